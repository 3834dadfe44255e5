/* test_cost.c: the arithmetic of the cost model: integers against doubles, the same bits on every
 * machine, no overflow, and what must hold of any deployment and any iteration. */
#include "base/rng.h"
#include "sim/tests/deploy.h"

#include <math.h>

/* ---- the roofline ---- */

/* The same formula in doubles, from the data: tells whether integers lose anything. */
static double roofline_ms(const struct deployment *d, const struct sim_work *w) {
    const struct model_shape *m = d->model;
    double layer =
        (double)m->width * m->head_size * 2 * (m->heads + m->kv_heads) + 3.0 * m->width * m->ffn;
    double memory = layer * m->layers * d->weight_bits / 8 / (double)d->gpu->effective_bandwidth;
    double padded =
        w->new_tokens <= 64 ? (double)w->new_tokens : ceil((double)w->new_tokens / 128) * 128;
    double compute = 2 * layer * m->layers * padded / (double)d->gpu->effective_flops;
    double longer = fmax(memory, compute), shorter = fmin(memory, compute);
    struct cost_model c = cost_of(d);
    double matrices = longer + c.overlap_loss_1024 / 1024.0 * shorter * shorter / longer;
    double kv = (double)w->context_tokens * 2 * m->layers * m->kv_heads * m->head_size *
                d->kv_bits / 8 / (double)d->gpu->effective_bandwidth;
    double attend = 4.0 * m->heads * m->head_size * m->layers * (double)w->attended /
                    (double)d->gpu->effective_flops;
    double head = (double)m->width * m->vocabulary * 2;
    head = fmax(head / (double)d->gpu->effective_bandwidth,
                head * w->requests / (double)d->gpu->effective_flops);
    double overhead = (double)d->gpu->overhead_ns * m->layers / 32e9;
    return 1e3 * (matrices + fmax(kv, attend) + head + overhead);
}

START_TEST(integers_give_what_doubles_give) {
    struct rng r;
    rng_seed(&r, 3);
    for (int i = 0; i < N_MODELS - 1; i++)
        for (int trial = 0; trial < 400; trial++) {
            struct deployment d = deploy(MODELS[i], trial % 2 ? "a100" : "h100");
            struct cost_model c = cost_of(&d);
            struct sim_work w = {.requests = 1 + (int32_t)rng_below(&r, 300)};
            w.new_tokens = w.requests * (trial % 3 ? 1 : 1 + (int64_t)rng_below(&r, 2000));
            w.context_tokens = w.new_tokens + w.requests * (int64_t)rng_below(&r, 4000);
            w.attended = w.new_tokens * (1 + (int64_t)rng_below(&r, 4000));
            double got = (double)cost_iteration_ns(&c, &w) / 1e6, want = roofline_ms(&d, &w);
            ck_assert_msg(fabs(got / want - 1) < 2e-4, "%s: got %.4f ms, want %.4f", MODELS[i], got,
                          want);
        }
}
END_TEST

START_TEST(the_table_equals_the_formula_and_more_work_never_takes_less) {
    struct deployment d = deploy("llama-2-7b", "a100");
    struct cost_model c = cost_of(&d), without = c;
    without.tabled = false;
    int64_t before = 0;
    for (int32_t n = 1; n < 2000; n++) {
        int64_t ns = decode_ns(&c, n, 500);
        ck_assert_int_eq(ns, decode_ns(&without, n, 500));
        ck_assert_int_ge(ns, before);
        before = ns;
    }
    struct deployment mixture = deploy("mixtral-8x7b", "a100");
    mixture.weight_bits = 4;
    c = cost_of(&mixture);
    before = 0;
    for (int32_t n = 1; n < 2000; n++) {
        ck_assert_int_ge(decode_ns(&c, n, 500), before);
        before = decode_ns(&c, n, 500);
    }
}
END_TEST

START_TEST(nothing_overflows_at_the_limits) {
    struct deployment d = deploy("llama-2-7b", "a100");
    d.draft_tokens = 64, d.draft_cost = 10;
    struct cost_model c = cost_of(&d);
    int64_t context = 131072;
    int32_t n = 512;
    /* decode: 67 million cached tokens of 0.5 MB at 1.5 TB/s are some 23 s; speculation multiplies
     * the operations of attention by 65 */
    double plain_s = 67108864.0 * 524288 / (double)d.gpu->effective_bandwidth;
    double got_s = (double)decode_ns(&c, n, context) / 1e9;
    double most_s =
        65 * 67108864.0 * 4 * 4096 * 32 / (double)d.gpu->effective_flops + 640 * plain_s;
    ck_assert_msg(got_s > plain_s && got_s < 2 * most_s, "%.1f s", got_s);
    /* prefill of all of it in one iteration */
    double attended = 512.0 * 131072 * 131073 / 2, tokens = 512.0 * 131072;
    double want_s =
        (attended * 4 * 4096 * 32 + tokens * 2 * 6.476e9) / (double)d.gpu->effective_flops;
    got_s = (double)prefill_ns(&c, n, context) / 1e9;
    ck_assert_msg(fabs(got_s / want_s - 1) < 1e-3, "got %.1f s, want %.1f", got_s, want_s);
    ck_assert(got_s * 1e9 * 10000 < 9.2e18); /* ten thousand such iterations fit the clock */
}
END_TEST

/* ---- any deployment, any iteration ---- */

static struct deployment any_deployment(struct rng *r) {
    static const int bits[] = {16, 8, 4};
    const char *model =
        MODELS[rng_below(r, N_MODELS)]; /* separate statements fix the order of the draws */
    struct deployment d = deploy(model, rng_below(r, 2) ? "a100" : "h100");
    d.weight_bits = bits[rng_below(r, 3)];
    d.kv_bits = bits[rng_below(r, 3)];
    if (rng_below(r, 2)) d.draft_tokens = (int)rng_below(r, 9);
    d.acceptance = (double)rng_below(r, 101) / 100;
    d.draft_cost = (double)rng_below(r, 50) / 100;
    d.fused = rng_below(r, 4) > 0;
    return d;
}

static struct sim_work any_work(struct rng *r) {
    struct sim_work w = {.requests = 1 + (int32_t)rng_below(r, 400)};
    int64_t each = rng_below(r, 2) ? 1 : 1 + (int64_t)rng_below(r, 3000);
    int64_t before = (int64_t)rng_below(r, 8000);
    w.new_tokens = w.requests * each;
    w.context_tokens = w.requests * (before + each);
    w.attended = w.requests * (each * before + each * (each + 1) / 2);
    return w;
}

/* The work of one more sequence like the others. */
static struct sim_work one_more(struct sim_work w) {
    w.new_tokens += w.new_tokens / w.requests;
    w.context_tokens += w.context_tokens / w.requests;
    w.attended += w.attended / w.requests;
    w.requests++;
    return w;
}

static int64_t time_of(struct deployment d, const struct sim_work *w) {
    struct cost_model c = cost_of(&d);
    int64_t ns = cost_iteration_ns(&c, w);
    ck_assert_int_gt(ns, 0);
    return ns;
}

START_TEST(what_helps_never_hurts) {
    struct rng r;
    rng_seed(&r, 8);
    for (int trial = 0; trial < 1500; trial++) {
        struct deployment d = any_deployment(&r), better = d;
        struct sim_work w = any_work(&r), more = one_more(w);
        int64_t ns = time_of(d, &w);
        ck_assert_int_ge(time_of(d, &more), ns);
        if (d.weight_bits > 4) better.weight_bits /= 2;
        ck_assert_int_le(time_of(better, &w), ns);
        better = d;
        if (d.kv_bits > 4) better.kv_bits /= 2;
        ck_assert_int_le(time_of(better, &w), ns);
        better = d;
        better.acceptance = fmin(1, d.acceptance + 0.05);
        ck_assert_int_le(time_of(better, &w), ns);
        better = d;
        better.draft_cost = d.draft_cost / 2;
        ck_assert_int_le(time_of(better, &w), ns);
        better = d;
        better.fused = true;
        ck_assert_int_le(time_of(better, &w), ns);
    }
}
END_TEST

/* FNV-1a over the times of the same 4,000 iterations. Another machine, compiler or libm must get
 * the same; a new calibration or formula gets a new one, which is the only reason to change it. */
START_TEST(the_same_to_the_last_bit_on_every_machine) {
    struct rng r;
    rng_seed(&r, 9);
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (int trial = 0; trial < 400; trial++) {
        struct deployment d = any_deployment(&r);
        struct cost_model c = cost_of(&d);
        for (int i = 0; i < 10; i++) {
            struct sim_work w = any_work(&r);
            digest = (digest ^ (uint64_t)cost_iteration_ns(&c, &w)) * UINT64_C(0x100000001b3);
        }
    }
    ck_assert_msg(digest == UINT64_C(0x11c4e0a53bfc2f23), "digest is 0x%016llx",
                  (unsigned long long)digest);
}
END_TEST

int main(void) {
    Suite *s = suite_create("cost");
    TCase *t = tcase_create("cost");
    tcase_add_test(t, integers_give_what_doubles_give);
    tcase_add_test(t, the_table_equals_the_formula_and_more_work_never_takes_less);
    tcase_add_test(t, nothing_overflows_at_the_limits);
    tcase_add_test(t, what_helps_never_hurts);
    tcase_add_test(t, the_same_to_the_last_bit_on_every_machine);
    suite_add_tcase(s, t);
    return check_main(s);
}
