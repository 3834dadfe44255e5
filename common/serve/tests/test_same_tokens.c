/* test_same_tokens.c: greedy answers and log-probabilities do not depend on scheduling. The
 * embedded model answers the same prompts under random plans: any batch, any chunk of prefill,
 * preemption, blocks in any order, with and without prefix reuse, with and without a draft model.
 * The reference is one request at a time.
 */
#include "testing/check_main.h"

#include "backend/cpu/cpu.h"
#include "base/home.h"
#include "base/rng.h"
#include "model/model.h"
#include "sched/policies.h"
#include "base/buffer.h"
#include "serve/engine.h"
#include "serve/tests/chaos.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROMPTS = 10, OUTPUT = 24, LONGEST = 150, POSITIONS = 6, BUDGET = 64, TIGHT = 40 };
enum { TOP = 3, SCORES = (LONGEST + OUTPUT) * (1 + TOP) };

static struct model *model;
static struct tokenizer *tokenizer;
static int32_t prompts[PROMPTS][LONGEST], lengths[PROMPTS];

/* ---- one run --------------------------------------------------------------------------------- */

struct result {
    char text[PROMPTS][1024];
    struct token_score scores[PROMPTS][SCORES]; /* (n_scores[i]) */
    size_t n_scores[PROMPTS];
    int64_t preemptions, cached, draft_steps, drafted, accepted;
};

static struct result reference;

/* The draft model of the runs: the target itself, or the target without its last layer, which is
 * wrong now and then. */
static struct {
    int32_t tokens; /* 0: no draft model */
    bool poor;
} draft;

static struct backend *make_draft(struct backend_config config) {
    struct err e;
    struct backend_cpu_options o = {.precision = PRECISION_EXACT};
    if (draft.tokens == 0) return NULL;
    if (draft.poor) o.fault = FAULT_SKIPPED_LAYER;
    o.fault_arg = model->config.n_layers - 1;
    config.max_step_tokens = BUDGET + config.max_seqs;
    config.draft_tokens = 0;
    struct backend *b = backend_cpu_create_with(&config, &o, &e);
    ck_assert_msg(b != NULL, "%s", e.text);
    return b;
}

static struct result answer_all(const struct policy_ops *policy, const char *arg, int32_t positions,
                                int32_t kv_blocks, bool prefix_cache) {
    struct err e;
    struct result all = {0};
    struct backend_config config = {.model = model,
                                    .threads = 2,
                                    .kv_blocks = kv_blocks,
                                    .max_seq_tokens = LONGEST + OUTPUT,
                                    .max_step_tokens = BUDGET,
                                    .max_seqs = positions,
                                    .draft_tokens = draft.tokens};
    struct backend *backend = backend_cpu_create(&config, &e), *small = make_draft(config);
    ck_assert_msg(backend != NULL, "%s", e.text);
    struct records *records = records_create(-1, 0, clock_monotonic(), &e);
    struct engine_options o = {.backend = backend,
                               .tokenizer = tokenizer,
                               .records = records,
                               .policy = policy,
                               .policy_arg = arg,
                               .clock = clock_monotonic(),
                               .max_waiting = PROMPTS,
                               .prefix_cache = prefix_cache,
                               .draft = small,
                               .draft_tokens = draft.tokens};
    struct engine *g = engine_create(&o, &e);
    ck_assert_msg(g != NULL, "%s", e.text);
    struct stream *streams[PROMPTS];
    struct live_record *live[PROMPTS];
    for (int i = 0; i < PROMPTS; i++) {
        streams[i] = stream_create(NULL);
        live[i] = records_open(records, NULL, 0, &e);
        struct engine_request q = {.prompt = prompts[i],
                                   .n_prompt = lengths[i],
                                   .max_output = OUTPUT,
                                   .sampling = {.top_p = 1,
                                                .temperature = i % 5 == 4 ? 0.9f : 0,
                                                .seed = (uint64_t)i,
                                                .rules.frequency_penalty = i % 2 ? 0.5f : 0,
                                                .rules.repetition_penalty = i % 3 ? 1.2f : 1},
                                   .ignore_end = true,
                                   .scores = i % 4 > 0,
                                   .prompt_scores = i % 4 == 2,
                                   .top_scores = i % 4 > 1 ? TOP : 0,
                                   .stream = streams[i],
                                   .live = live[i]};
        int64_t id;
        ck_assert_int_eq(engine_submit(g, &q, &id), SUBMIT_OK);
    }
    engine_drain(g); /* no arrival is left: a short group may go */
    for (int steps = 0; g->n_waiting + g->n_running > 0; steps++) {
        int64_t wake;
        ck_assert_msg(engine_step(g, &wake, &e) != ENGINE_FAULT, "%s", e.text);
        ck_assert_int_lt(steps, 100000);
    }
    ck_assert_int_eq(kv_pool_free_blocks(g->kv), kv_pool_total_blocks(g->kv));
    for (int i = 0; i < PROMPTS; i++) {
        struct buffer text = {0};
        int32_t tokens;
        while (stream_take(streams[i], &text, &tokens) == 1) continue;
        buffer_puts(&text, "");
        snprintf(all.text[i], sizeof all.text[i], "%s", text.bytes);
        buffer_clear(&text);
        stream_take_scores(streams[i], &text, SCORES);
        all.n_scores[i] = text.n / sizeof all.scores[i][0];
        if (text.n > 0) memcpy(all.scores[i], text.bytes, text.n);
        buffer_release(&text);
        for (size_t k = 0; k < live[i]->record.n_events; k++)
            all.preemptions += live[i]->record.events[k].kind == EV_REQUEST_PREEMPTED;
        if (prefix_cache) all.cached += live[i]->record.workload.cached_prompt_tokens;
        if (small) {
            all.draft_steps += live[i]->record.workload.draft_steps;
            all.drafted += live[i]->record.workload.draft_tokens;
            all.accepted += live[i]->record.workload.accepted_draft_tokens;
        }
        stream_release(streams[i]);
        live_end(records, live[i]);
    }
    engine_free(g);
    records_free(records);
    backend_free(backend);
    backend_free(small);
    return all;
}

static void expect_reference(const struct result *r, const char *what) {
    for (int i = 0; i < PROMPTS; i++) {
        ck_assert_msg(!strcmp(r->text[i], reference.text[i]), "prompt %d, %s: '%s', alone: '%s'", i,
                      what, r->text[i], reference.text[i]);
        ck_assert_msg(
            r->n_scores[i] == reference.n_scores[i] &&
                !memcmp(r->scores[i], reference.scores[i], r->n_scores[i] * sizeof r->scores[i][0]),
            "prompt %d, %s: other log-probabilities than alone", i, what);
    }
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void set_up(void) {
    char home[4096];
    struct err e;
    model = model_open(home_path(HOME_DEFAULT_MODEL, home, sizeof home), &e);
    ck_assert_msg(model != NULL, "%s", e.text);
    tokenizer = tokenizer_create(model->file, &e);
    ck_assert_ptr_nonnull(tokenizer);
    struct rng r;
    rng_seed(&r, 3);
    int32_t head[LONGEST];
    for (int i = 0; i < LONGEST; i++)
        head[i] = (int32_t)rng_below(&r, (uint64_t)tokenizer_vocab_size(tokenizer) / 2) + 3;
    for (int i = 0; i < PROMPTS; i++) { /* most begin alike, for 20 to 100 tokens */
        lengths[i] = 30 + (int32_t)rng_below(&r, LONGEST - 30);
        for (int k = 0; k < lengths[i]; k++)
            prompts[i][k] = k < 10 * i + 10 ? head[k] : (int32_t)rng_below(&r, 200) + 3;
    }
    /* two equal ones of whole blocks: all of the second is in the cache, and its last token must be
     * computed all the same */
    lengths[0] = lengths[1] = 6 * KV_BLOCK_TOKENS;
    memcpy(prompts[0], head, sizeof prompts[0]);
    memcpy(prompts[1], head, sizeof prompts[1]);
    reference = answer_all(policy_learner(), "", 1, policy_blocks_for(LONGEST + OUTPUT), false);
}

static void tear_down(void) {
    tokenizer_free(tokenizer);
    model_free(model);
}

START_TEST(random_plans) {
    char seed[16], what[64];
    int64_t preemptions = 0, cached = 0;
    for (int i = 0; i < 8; i++) {
        snprintf(seed, sizeof seed, "%d", 8 * _i + i);
        bool reuse = i % 2;
        struct result r = answer_all(&chaos, seed, POSITIONS, i < 4 ? TIGHT : 4 * TIGHT, reuse);
        snprintf(what, sizeof what, "chaos:%s, prefix reuse %s", seed, reuse ? "on" : "off");
        expect_reference(&r, what);
        preemptions += r.preemptions;
        cached += r.cached;
    }
    ck_assert_int_gt(preemptions, 20); /* otherwise nothing was recomputed */
    ck_assert_int_gt(cached, 0);
}
END_TEST

START_TEST(every_policy) {
    static const char *const names[] = {"single",     "static:3",       "wait-for-n:4",
                                        "continuous", "chunked",        "shortest-first",
                                        "learner",    "learner-batch:3"};
    const char *arg;
    struct err e;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct policy_ops *p = policy_find(names[i], &arg, &e);
        struct result r = answer_all(p, arg, POSITIONS, TIGHT, i % 2);
        expect_reference(&r, names[i]);
    }
}
END_TEST

/* ---- speculative decoding -------------------------------------------------------------------- */

static void with_drafts(int32_t tokens, bool poor) {
    char seed[16], what[96];
    draft.tokens = tokens;
    draft.poor = poor;
    int64_t preemptions = 0, cached = 0, drafted = 0, accepted = 0;
    for (int i = 0; i < 3; i++) {
        snprintf(seed, sizeof seed, "%d", 8 * tokens + i);
        bool reuse = i > 0;
        struct result r = answer_all(&chaos, seed, POSITIONS, i < 2 ? TIGHT : 4 * TIGHT, reuse);
        snprintf(what, sizeof what, "%d drafted by %s model, chaos:%s, prefix reuse %s", tokens,
                 poor ? "a poor" : "the same", seed, reuse ? "on" : "off");
        expect_reference(&r, what);
        preemptions += r.preemptions;
        cached += r.cached;
        drafted += r.drafted;
        accepted += r.accepted;
    }
    ck_assert_int_gt(preemptions, 5);
    ck_assert_int_gt(cached, 0);
    ck_assert_int_gt(accepted, 50);
    ck_assert_int_lt(accepted, drafted);
}

START_TEST(a_draft_model_changes_no_answer) {
    static const int32_t tokens[] = {1, 2, 4, 7, 17};
    with_drafts(tokens[_i], false);
    with_drafts(tokens[_i], true);
    const char *arg;
    struct err e;
    const struct policy_ops *p = policy_find(_i % 2 ? "chunked" : "learner", &arg, &e);
    struct result r = answer_all(p, arg, POSITIONS, TIGHT, true);
    expect_reference(&r, p->name);
    r = answer_all(p, arg, 1, policy_blocks_for(LONGEST + OUTPUT), false);
    expect_reference(&r, "one at a time, with drafts");
}
END_TEST

/* ---- log-probabilities ----------------------------------------------------------------------- */

/* log(softmax(logits))[id], by the formula. */
static double plain_logprob(const float *logits, int32_t n, int32_t id) {
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += exp((double)logits[i] - (double)logits[id]);
    return -log(sum);
}

/* Prompt 2 asks for scores of prompt and answer. The backend's own logits say what they are. */
START_TEST(scores_are_those_of_the_backends_logits) {
    struct err e;
    struct backend_config config = {
        .model = model, .threads = 1, .max_seq_tokens = LONGEST + OUTPUT, .max_seqs = 1};
    struct backend *backend = backend_cpu_create(&config, &e);
    int32_t vocab = backend->info.vocab_size, table[LONGEST], n = lengths[2], id = 0;
    float *logits = malloc((size_t)vocab * sizeof *logits);
    for (int32_t i = 0; i < LONGEST; i++) table[i] = i;
    ck_assert_uint_eq(reference.n_scores[2], (size_t)(n + OUTPUT) * (1 + TOP));
    double sum = 0, want_sum = 0;
    for (int32_t at = 0; at < n + OUTPUT; at++) {
        const struct token_score *row = reference.scores[2] + at * (1 + TOP);
        if (at < n) ck_assert_int_eq(row->id, prompts[2][at]);
        if (at == 0) ck_assert(isnan(row->logprob));
        if (at > 0) {
            double want = plain_logprob(logits, vocab, row->id);
            ck_assert_double_eq_tol((double)row->logprob, want, 1e-5 * (1 - want));
            sum += at < n ? (double)row->logprob : 0;
            want_sum += at < n ? want : 0;
            ck_assert_int_eq(row[1].id, sampler_greedy(logits, vocab, &e));
            for (int k = 1; k <= TOP; k++) {
                want = plain_logprob(logits, vocab, row[k].id);
                ck_assert_double_eq_tol((double)row[k].logprob, want, 1e-5 * (1 - want));
                ck_assert(k == 1 || row[k].logprob <= row[k - 1].logprob);
            }
        }
        if (at >= n) ck_assert(row[0].logprob <= row[1].logprob);
        id = row->id;
        struct backend_seq part = {&id, 1, at, table, policy_blocks_for(at + 1), 1};
        ck_assert(!backend_step(backend, &(struct backend_batch){&part, 1}, logits, &e));
    }
    ck_assert_double_eq_tol(sum, want_sum, 1e-4 * -want_sum);
    for (int k = lengths[6]; k < lengths[6] + OUTPUT; k++) { /* greedy, without penalties */
        const struct token_score *row = reference.scores[6] + k * (1 + TOP);
        ck_assert(row[0].id == row[1].id && row[0].logprob == row[1].logprob);
    }
    free(logits);
    backend_free(backend);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("same tokens");
    TCase *c = tcase_create("scheduling");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_set_timeout(c, 120); /* two models compute */
    tcase_add_loop_test(c, random_plans, 0, 5);
    tcase_add_test(c, every_policy);
    tcase_add_loop_test(c, a_draft_model_changes_no_answer, 0, 5);
    tcase_add_test(c, scores_are_those_of_the_backends_logits);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return check_main(suite());
}
