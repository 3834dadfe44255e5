/* test_hardware.c: models, GPUs and switches: counts against the published ones, each switch in its
 * limiting cases, published measurements, and the numbers that hardware.h and calibration/README.md
 * tell people. */
#include "sched/policy.h"
#include "sim/tests/deploy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what is known ---- */

START_TEST(shapes_give_the_published_number_of_parameters) {
    for (int i = 0; i < N_MODELS; i++) {
        const struct model_shape *m = deploy(MODELS[i], "a100").model;
        int64_t q = (int64_t)m->heads * m->head_size, kv = (int64_t)m->kv_heads * m->head_size;
        int64_t layer = m->width * (2 * q + 2 * kv) + (int64_t)3 * m->width * m->ffn * m->experts +
                        2 * (int64_t)m->width;
        if (m->experts > 1) layer += (int64_t)m->width * m->experts;
        if (!strcmp(m->name, "qwen2.5-7b")) layer += q + 2 * kv; /* biases */
        int64_t outside = (int64_t)m->width * m->vocabulary * (m->tied ? 1 : 2) + m->width;
        ck_assert_msg(m->layers * layer + outside == m->parameters, "%s: %lld", m->name,
                      (long long)(m->layers * layer + outside));
        struct deployment d = deploy(MODELS[i], "a100"); /* norms and biases are left out there */
        int64_t left_out = m->layers * 2 * (int64_t)m->width + m->width;
        if (!strcmp(m->name, "qwen2.5-7b")) left_out += m->layers * (q + 2 * kv);
        ck_assert_int_eq(deployment_weight_bytes(&d), 2 * (m->parameters - left_out));
    }
}
END_TEST

START_TEST(cache_bytes_per_token_are_the_published_ones) {
    static const int64_t want[N_MODELS] = {524288, 131072, 57344, 131072, 23040, 131072};
    for (int i = 0; i < N_MODELS; i++) {
        struct deployment d = deploy(MODELS[i], "h100");
        ck_assert_int_eq(deployment_kv_bytes_per_token(&d), want[i]);
        d.kv_bits = 4;
        ck_assert_int_eq(deployment_kv_bytes_per_token(&d), want[i] / 4);
    }
}
END_TEST

START_TEST(unknown_names_are_refused_with_a_suggestion) {
    struct deployment d;
    struct err e;
    ck_assert_int_eq(deployment_find("lama-2-7b", "a100", &d, &e), -1);
    ck_assert_str_eq(e.field, "--model");
    ck_assert_ptr_nonnull(strstr(e.text, "did you mean 'llama-2-7b'? Known: llama-2-7b, mistral"));
    ck_assert_int_eq(deployment_find("llama-2-7b", "H100", &d, &e), -1);
    ck_assert_str_eq(e.field, "--gpu");
    ck_assert_ptr_nonnull(strstr(e.text, "did you mean 'h100'? Known: a100, h100"));
}
END_TEST

static void refused(struct deployment d, const char *member) {
    struct cost_model c;
    struct err e;
    ck_assert_int_eq(deployment_cost(&d, &c, &e), -1);
    ck_assert_str_eq(e.field, member);
    ck_assert_int_eq(deployment_kv_blocks(&d, &e), -1);
    ck_assert_str_eq(e.field, member);
}

START_TEST(members_that_make_no_sense_are_named) {
    struct deployment d = deploy("llama-2-7b", "a100");
#define WITH(member, value, name)                                                                  \
    do {                                                                                           \
        struct deployment bad = d;                                                                 \
        bad.member = value;                                                                        \
        refused(bad, name);                                                                        \
    } while (0)
    WITH(weight_bits, 2, "weight_bits");
    WITH(kv_bits, 0, "kv_bits");
    WITH(draft_tokens, -1, "draft_tokens");
    WITH(draft_tokens, 65, "draft_tokens");
    WITH(acceptance, 1.01, "acceptance");
    WITH(acceptance, NAN, "acceptance");
    WITH(draft_cost, -0.1, "draft_cost");
    WITH(draft_cost, INFINITY, "draft_cost");
    WITH(memory_reserve, 1, "memory_reserve");
    WITH(memory_reserve, NAN, "memory_reserve");
#undef WITH
}
END_TEST

/* ---- switches, in their limiting cases ---- */

START_TEST(fewer_weight_bits_cut_reading_and_nothing_else) {
    struct deployment d = deploy("llama-2-7b", "a100");
    struct cost_model c16 = cost_of(&d);
    d.weight_bits = 4;
    struct cost_model c4 = cost_of(&d);
    /* batch 1 waits for memory: the layers' weights take a quarter of the time */
    ck_assert_int_le(llabs(c16.memory_fixed_ps - 4 * c4.memory_fixed_ps), 4);
    int64_t saved_ns = decode_ns(&c16, 1, 1) - decode_ns(&c4, 1, 1);
    double share = (double)saved_ns / (0.75 * (double)c16.memory_fixed_ps / 1000);
    ck_assert_msg(fabs(share - 1) < 0.01, "%.4f", share);
    /* operations don't change */
    ck_assert_int_eq(c16.compute_per_token_ps, c4.compute_per_token_ps);
    ck_assert_int_eq(c16.compute_per_attended_fs, c4.compute_per_attended_fs);
    ck_assert_int_eq(c16.memory_per_context_ps, c4.memory_per_context_ps);
    double prefill = (double)prefill_ns(&c4, 1, 8192) / (double)prefill_ns(&c16, 1, 8192);
    ck_assert_msg(prefill <= 1 && prefill > 0.995, "%.4f", prefill); /* hidden behind operations */
    /* and there is more room for the cache: exactly what the weights gave up */
    struct err e;
    int64_t block = deployment_kv_bytes_per_token(&d) * KV_BLOCK_TOKENS;
    int64_t blocks4 = deployment_kv_blocks(&d, &e), bytes4 = deployment_weight_bytes(&d);
    d.weight_bits = 16;
    int64_t freed = deployment_weight_bytes(&d) - bytes4;
    ck_assert_int_le(llabs(blocks4 - deployment_kv_blocks(&d, &e) - freed / block), 1);
}
END_TEST

START_TEST(fewer_cache_bits_cut_attention_in_decode_and_double_the_cache) {
    struct deployment d = deploy("llama-2-7b", "h100");
    struct cost_model c16 = cost_of(&d);
    struct err e;
    int64_t blocks16 = deployment_kv_blocks(&d, &e);
    d.kv_bits = 8;
    struct cost_model c8 = cost_of(&d);
    ck_assert_int_le(llabs(deployment_kv_blocks(&d, &e) - 2 * blocks16), 1);
    int64_t saved = decode_ns(&c16, 50, 2000) - decode_ns(&c8, 50, 2000);
    ck_assert_int_le(llabs(saved - 100000 * c16.memory_per_context_ps / 2 / 1000), 100);
    ck_assert_int_eq(prefill_ns(&c16, 1, 2048), prefill_ns(&c8, 1, 2048)); /* operations */
}
END_TEST

START_TEST(speculation_in_its_limits) {
    struct deployment d = deploy("llama-2-7b", "a100");
    struct cost_model off = cost_of(&d);
    d.acceptance = 0.9, d.draft_cost = 0.3; /* g = 0 turns it off, with any acceptance and cost */
    struct cost_model zero = cost_of(&d);
    ck_assert_int_eq(decode_ns(&off, 7, 300), decode_ns(&zero, 7, 300));
    ck_assert_double_eq(deployment_tokens_per_round(&d), 1);
    d.draft_tokens = 4;
    d.acceptance = 1; /* g + 1 tokens a round */
    ck_assert_double_eq(deployment_tokens_per_round(&d), 5);
    d.acceptance = 0; /* one token a round: only the cost is left */
    ck_assert_double_eq(deployment_tokens_per_round(&d), 1);
    struct cost_model none = cost_of(&d);
    double plain = (double)decode_ns(&off, 1, 300), got = (double)decode_ns(&none, 1, 300);
    ck_assert_msg(got > plain * (1 + 4 * 0.3), "%.3f", got / plain);
    d.acceptance = 0.8;
    double want = (1 - pow(0.8, 5)) / (1 - 0.8);
    ck_assert_double_eq_tol(deployment_tokens_per_round(&d), want, 1e-8);
    /* iterations with prefill in them are plain */
    struct cost_model c = cost_of(&d);
    ck_assert_int_eq(prefill_ns(&c, 3, 200), prefill_ns(&off, 3, 200));
}
END_TEST

/* Where nothing is spare a round is what it says: the drafts and a pass over all tokens. */
START_TEST(a_round_is_g_drafts_and_one_pass_over_g_plus_1_tokens) {
    struct deployment d = deploy("mistral-7b", "a100");
    struct cost_model off = cost_of(&d);
    d.draft_tokens = 63, d.acceptance = 0.5, d.draft_cost = 0.125;
    struct cost_model on = cost_of(&d);
    int64_t n = 200, context = 3000;
    double drafts = 63 * 0.125 * (double)decode_ns(&off, (int32_t)n, context);
    double check = (double)cost_pass_ns(&off, n * 64, n * 64, n * context, n * context * 64);
    double got = (double)decode_ns(&on, (int32_t)n, context) * deployment_tokens_per_round(&d);
    ck_assert_msg(fabs(got / (drafts + check) - 1) < 1e-5, "%.6f", got / (drafts + check));
}
END_TEST

/* Theorem 3.8 of Leviathan et al.: with spare operations, walltime improves by
 * (1 - a^(g+1)) / ((1 - a) (g c + 1)). At batch 1 a pass over g + 1 tokens is as long as over one.
 */
START_TEST(speculation_at_batch_1_speeds_up_as_the_paper_says_and_not_in_a_full_batch) {
    for (int g = 1; g <= 8; g++)
        for (int percent = 0; percent <= 100; percent += 20) {
            struct deployment d = deploy("llama-2-7b", "h100");
            struct cost_model off = cost_of(&d);
            d.draft_tokens = g, d.acceptance = percent / 100.0, d.draft_cost = 0.05;
            struct cost_model on = cost_of(&d);
            double want = deployment_tokens_per_round(&d) / (g * 0.05 + 1);
            double got = (double)decode_ns(&off, 1, 500) / (double)decode_ns(&on, 1, 500);
            ck_assert_msg(fabs(got / want - 1) < 0.02, "g %d a %d %%: %.3f, paper %.3f", g, percent,
                          got, want);
        }
    struct deployment d = deploy("mistral-7b", "h100");
    struct cost_model off = cost_of(&d);
    d.draft_tokens = 4, d.acceptance = 0.7, d.draft_cost = 0.05;
    struct cost_model on = cost_of(&d);
    ck_assert_int_lt(decode_ns(&on, 1, 500), decode_ns(&off, 1, 500) / 2);
    ck_assert_int_gt(decode_ns(&on, 1024, 500), decode_ns(&off, 1024, 500)); /* nothing is spare */
}
END_TEST

START_TEST(unfused_operators_set_a_floor_and_cost_nothing_above_it) {
    struct deployment d = deploy("llama-2-7b", "a100");
    struct cost_model fused = cost_of(&d);
    d.fused = false;
    struct cost_model unfused = cost_of(&d);
    /* eager PyTorch's 25.5 tokens/s at batch 1 */
    ck_assert_double_eq_tol(1e9 / (double)decode_ns(&unfused, 1, 100), 25.5, 0.02);
    ck_assert_int_eq(decode_ns(&unfused, 1, 100), decode_ns(&unfused, 32, 100)); /* host-bound */
    ck_assert_int_eq(prefill_ns(&unfused, 1, 2048), prefill_ns(&fused, 1, 2048));
    ck_assert_int_gt(decode_ns(&unfused, 1, 100), 3 * decode_ns(&fused, 1, 100));
}
END_TEST

START_TEST(experts_touched_in_its_limits) {
    ck_assert_int_eq(experts_touched_65536(1, 1, 1), 65536);       /* dense */
    ck_assert_int_eq(experts_touched_65536(8, 8, 1), 8 * 65536);   /* k = E: dense */
    ck_assert_int_eq(experts_touched_65536(8, 2, 0), 0);           /* no tokens */
    ck_assert_int_eq(experts_touched_65536(8, 2, 1), 2 * 65536);   /* one token: its k */
    ck_assert_int_eq(experts_touched_65536(8, 2, 100), 8 * 65536); /* many: all */
    ck_assert_int_eq(experts_touched_65536(256, 8, 1), 8 * 65536);
    for (int t = 0; t < 500; t++) {
        double want = 256 * (1 - pow(1 - 8 / 256.0, t));
        double got = (double)experts_touched_65536(256, 8, t) / 65536;
        ck_assert_msg(fabs(got - want) < 0.01, "%d tokens: %.4f, want %.4f", t, got, want);
    }
}
END_TEST

START_TEST(a_mixture_with_all_experts_active_is_a_dense_model) {
    struct deployment d = deploy("mixtral-8x7b", "a100");
    d.weight_bits = 4;
    struct model_shape all = *d.model, dense = *d.model;
    all.active_experts = 8;
    dense.experts = dense.active_experts = 1;
    dense.ffn *= 8;
    struct deployment a = d, b = d;
    a.model = &all, b.model = &dense;
    struct cost_model ca = cost_of(&a), cb = cost_of(&b), c = cost_of(&d);
    for (int32_t n = 1; n < 1000; n = n * 3 / 2 + 1) { /* but for the router: 0.004 % */
        double ratio = (double)decode_ns(&ca, n, 100) / (double)decode_ns(&cb, n, 100);
        ck_assert_msg(fabs(ratio - 1) < 1e-4, "%d: %.6f", n, ratio);
    }
    /* two of eight: at batch 1 it reads little, in a batch nearly all, and computes little */
    ck_assert_int_lt(c.known_ps[1], c.memory_fixed_ps * 3 / 10);
    ck_assert_int_gt(c.known_ps[16], c.memory_fixed_ps * 98 / 100);
    double active = (double)c.compute_per_token_ps / (double)ca.compute_per_token_ps;
    ck_assert_msg(active > 0.25 && active < 0.28, "%.3f", active);
}
END_TEST

/* ---- the cache ---- */

START_TEST(the_cache_is_what_weights_and_reserve_leave) {
    struct deployment d = deploy("llama-2-7b", "a100");
    struct err e;
    d.memory_reserve = 0;
    int64_t want = ((INT64_C(80) << 30) - deployment_weight_bytes(&d)) / (524288 * 16);
    ck_assert_int_eq(deployment_kv_blocks(&d, &e), want);
    d.memory_reserve = 0.5;
    want = ((INT64_C(40) << 30) - deployment_weight_bytes(&d)) / (524288 * 16);
    ck_assert_int_eq(deployment_kv_blocks(&d, &e), want);
    d.memory_reserve = 0.9; /* 8.6 GB are left, 13.5 are needed */
    ck_assert_int_eq(deployment_kv_blocks(&d, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "llama-2-7b at 16 bits needs 13.5 GB"));
    struct gpu tight = *d.gpu; /* half a block is none */
    tight.memory_bytes = deployment_weight_bytes(&d) + 524288 * 8;
    d.gpu = &tight, d.memory_reserve = 0;
    ck_assert_int_eq(deployment_kv_blocks(&d, &e), -1);
    tight.memory_bytes += 524288 * 8;
    ck_assert_int_eq(deployment_kv_blocks(&d, &e), 1);
    d = deploy("mixtral-8x7b", "h100"); /* 93 GB of weights */
    ck_assert_int_eq(deployment_kv_blocks(&d, &e), -1);
    d.weight_bits = 8;
    ck_assert_int_gt(deployment_kv_blocks(&d, &e), 10000);
}
END_TEST

START_TEST(only_the_last_block_is_partly_used) {
    int64_t unused = 0;
    for (int32_t t = 1; t <= 4096; t++) {
        int32_t u = kv_unused_slots(t);
        ck_assert(u >= 0 && u < KV_BLOCK_TOKENS && (t + u) % KV_BLOCK_TOKENS == 0);
        unused += u;
    }
    ck_assert_int_eq(unused * 2, 4096 * (KV_BLOCK_TOKENS - 1)); /* 7.5 on average */
    ck_assert_int_eq(kv_unused_slots(2304), 0);
    ck_assert_int_eq(kv_unused_slots(2305), 15);
}
END_TEST

/* ---- published measurements ---- */

static bool file_has(const char *path, const char *line) {
    static char text[1 << 16];
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s: run from the top of the tree", path);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    return strstr(text, line) != NULL;
}

/* A static batch: all prompts in one iteration, then `out` tokens each, the first of them by it. */
static double static_batch_tokens_per_s(const struct cost_model *c, int32_t n, int32_t prompt,
                                        int32_t out) {
    int64_t ns = prefill_ns(c, n, prompt);
    for (int32_t i = 1; i < out; i++) ns += decode_ns(c, n, prompt + i);
    return (double)n * out / ((double)ns / 1e9);
}

/* One line of calibration/README.md's table. */
static void published(const char *what, double measured, double model, const char *unit,
                      double within) {
    char line[200];
    snprintf(line, sizeof line, "| %s | %.4g %s | %.4g %s | %+.0f %% |", what, measured, unit,
             model, unit, 100 * (model / measured - 1));
    ck_assert_msg(fabs(model / measured - 1) <= within, "%s", line);
    ck_assert_msg(file_has("common/sim/calibration/README.md", line),
                  "calibration/README.md should say: %s", line);
}

START_TEST(published_measurements_come_out) {
    struct deployment d = deploy("llama-2-7b", "a100");
    struct cost_model c = cost_of(&d);
    published("prefill of 2,048 tokens, TensorRT-LLM", 133, (double)prefill_ns(&c, 1, 2048) / 1e6,
              "ms", 0.10);
    published("prefill of 128 tokens, TensorRT-LLM", 16, (double)prefill_ns(&c, 1, 128) / 1e6, "ms",
              0.30);
    published("decode at batch 1, gpt-fast", 104.9, 1e9 / (double)decode_ns(&c, 1, 105), "tokens/s",
              0.05);
    published("384 of 128 + 128 tokens, TensorRT-LLM", 5586,
              static_batch_tokens_per_s(&c, 384, 128, 128), "tokens/s", 0.15);
    published("60 of 128 + 2,048 tokens, TensorRT-LLM", 1928,
              static_batch_tokens_per_s(&c, 60, 128, 2048), "tokens/s", 0.15);
    published("52 of 2,048 + 128 tokens, TensorRT-LLM", 591,
              static_batch_tokens_per_s(&c, 52, 2048, 128), "tokens/s", 0.20);
    d.weight_bits = 8;
    c = cost_of(&d);
    published("decode at batch 1, 8-bit weights, gpt-fast", 155.58,
              1e9 / (double)decode_ns(&c, 1, 105), "tokens/s", 0.30);
    d.weight_bits = 4;
    c = cost_of(&d);
    published("decode at batch 1, 4-bit weights, gpt-fast", 196.8,
              1e9 / (double)decode_ns(&c, 1, 105), "tokens/s", 0.75);
    d = deploy("mixtral-8x7b", "a100");
    d.weight_bits = 8;
    c = cost_of(&d);
    published("the same, Mixtral-8x7B with 8-bit weights, gpt-fast", 97.92,
              1e9 / (double)decode_ns(&c, 1, 105), "tokens/s", 0.25);
}
END_TEST

/* ---- what hardware.h tells learners ---- */

enum { PROMPT = 2048, ANSWER = 256, MIDDLE = PROMPT + ANSWER / 2 };

static void row(const char *label, const char *format, double a100, double h100) {
    char a[20], h[20], line[120];
    snprintf(a, sizeof a, format, a100);
    snprintf(h, sizeof h, format, h100);
    snprintf(line, sizeof line, " *   %-48s %10s %10s\n", label, a, h);
    ck_assert_msg(file_has("common/sim/hardware.h", line), "hardware.h should say:\n%s", line);
}

struct recurring { /* of one GPU */
    double prefill_ms, alone_ms, answer_s, fit, together_ms, tokens_alone, tokens_together,
        requests, ridge, cache_over_weights;
};

static struct recurring recurring_case(const char *gpu) {
    struct deployment d = deploy("llama-2-7b", gpu);
    struct cost_model c = cost_of(&d);
    struct err e;
    int32_t fit = (int32_t)(deployment_kv_blocks(&d, &e) / policy_blocks_for(PROMPT + ANSWER));
    struct recurring r = {.prefill_ms = (double)prefill_ns(&c, 1, PROMPT) / 1e6,
                          .alone_ms = (double)decode_ns(&c, 1, MIDDLE) / 1e6,
                          .fit = fit,
                          .together_ms = (double)decode_ns(&c, fit, MIDDLE) / 1e6};
    int64_t ns = prefill_ns(&c, 1, PROMPT); /* which makes the first token */
    for (int i = 1; i < ANSWER; i++) ns += decode_ns(&c, 1, PROMPT + i);
    r.answer_s = (double)ns / 1e9;
    r.tokens_alone = 1e3 / r.alone_ms;
    r.tokens_together = fit * 1e3 / r.together_ms;
    r.requests = 1e3 / (r.prefill_ms + (ANSWER - 1) * r.together_ms / fit);
    r.ridge = (double)c.memory_fixed_ps / (double)c.compute_per_token_ps;
    r.cache_over_weights =
        (double)fit * MIDDLE * (double)c.memory_per_context_ps / (double)c.memory_fixed_ps;
    return r;
}

START_TEST(the_recurring_case_is_told_as_computed) {
    struct recurring a = recurring_case("a100"), h = recurring_case("h100");
    row("prefill of the prompt", "%.0f ms", a.prefill_ms, h.prefill_ms);
    row("one more token, alone", "%.1f ms", a.alone_ms, h.alone_ms);
    row("the whole answer, alone", "%.2f s", a.answer_s, h.answer_s);
    row("requests whose cache fits", "%.0f", a.fit, h.fit);
    row("one more token for each, all of these together", "%.1f ms", a.together_ms, h.together_ms);
    row("tokens/s in decode, alone", "%.0f", a.tokens_alone, h.tokens_alone);
    row("tokens/s in decode, together", "%.0f", a.tokens_together, h.tokens_together);
    row("requests/s at most, prefill included", "%.1f", a.requests, h.requests);
    row("tokens in a pass where operations overtake bytes", "%.0f", a.ridge, h.ridge);
    row("cache read / weights read, together", "%.1f", a.cache_over_weights, h.cache_over_weights);
    /* what the text says about them */
    ck_assert(a.prefill_ms / a.alone_ms > 13 && a.prefill_ms / a.alone_ms < 14);
    ck_assert(a.tokens_together / a.tokens_alone > 10 && a.tokens_together / a.tokens_alone < 11);
    ck_assert(a.prefill_ms / 1e3 / a.answer_s > 0.04 && a.prefill_ms / 1e3 / a.answer_s < 0.06);
    double share = a.requests * a.prefill_ms / 1e3;
    ck_assert_msg(share > 0.34 && share < 0.37, "%.3f", share);
}
END_TEST

int main(void) {
    Suite *s = suite_create("hardware");
    TCase *t = tcase_create("hardware");
    tcase_add_test(t, shapes_give_the_published_number_of_parameters);
    tcase_add_test(t, cache_bytes_per_token_are_the_published_ones);
    tcase_add_test(t, unknown_names_are_refused_with_a_suggestion);
    tcase_add_test(t, members_that_make_no_sense_are_named);
    tcase_add_test(t, fewer_weight_bits_cut_reading_and_nothing_else);
    tcase_add_test(t, fewer_cache_bits_cut_attention_in_decode_and_double_the_cache);
    tcase_add_test(t, speculation_in_its_limits);
    tcase_add_test(t, a_round_is_g_drafts_and_one_pass_over_g_plus_1_tokens);
    tcase_add_test(t, speculation_at_batch_1_speeds_up_as_the_paper_says_and_not_in_a_full_batch);
    tcase_add_test(t, unfused_operators_set_a_floor_and_cost_nothing_above_it);
    tcase_add_test(t, experts_touched_in_its_limits);
    tcase_add_test(t, a_mixture_with_all_experts_active_is_a_dense_model);
    tcase_add_test(t, the_cache_is_what_weights_and_reserve_leave);
    tcase_add_test(t, only_the_last_block_is_partly_used);
    tcase_add_test(t, published_measurements_come_out);
    tcase_add_test(t, the_recurring_case_is_told_as_computed);
    suite_add_tcase(s, t);
    return check_main(s);
}
