/* test_speculation.c: speculative decoding over two machines that compute nothing but check
 * everything: what is drafted, accepted, counted and logged, and that answers and their
 * distribution are those of plain decoding. With a real model: test_same_tokens.c.
 */
#include "testing/check_main.h"

#include "base/buffer.h"
#include "base/rng.h"
#include "sched/policies.h"
#include "serve/engine.h"
#include "serve/speculation.h"
#include "serve/tests/chaos.h"
#include "serve/tests/fake.h"
#include "sim/hardware.h"

#include <math.h>
#include <string.h>

/* ---- the machine ----------------------------------------------------------------------------- */

enum { SEQS = 6, BLOCKS = 40, CONTEXT = 200, BUDGET = 64, LETTERS = 26, MAX_REQUESTS = 64 };

/* A model whose next token is a function of all tokens before, which it reads back through the
 * block table: a stale, lost or foreign entry of its cache changes the answer. */
struct machine {
    struct backend b;
    int32_t kv[FAKE_BLOCKS * KV_BLOCK_TOKENS];
    int32_t wrong_percent; /* so often it errs, by the text alone */
    int32_t end_after;     /* > 0: the end token follows so many tokens */
    const float *fixed;    /* (3, 3): logits of 'a' to 'c' behind each of them; or NULL */
    int64_t fail_at;       /* the step that fails; -1: none */
    int64_t steps, tokens;
    int32_t most_rows;
};

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static void logits_after(struct machine *m, const struct backend_seq *q, int32_t n, float *out) {
    uint64_t h = 1;
    int32_t last = 0;
    for (int32_t at = 0; at < n; at++) {
        int32_t slot =
            q->block_table[at / KV_BLOCK_TOKENS] * KV_BLOCK_TOKENS + at % KV_BLOCK_TOKENS;
        last = m->kv[slot];
        INVARIANT(last >= 0); /* it was computed. ck_assert would write a line for each */
        h = mix(h, (uint64_t)last);
    }
    for (int32_t v = 0; v < m->b.info.vocab_size; v++) out[v] = -1000;
    if (m->fixed) {
        for (int v = 0; v < 3; v++) out['a' + v] = m->fixed[3 * ((last - 'a') % 3) + v];
        return;
    }
    int32_t id = 'a' + (int32_t)(h % LETTERS);
    if ((int32_t)(mix(h, 7) % 100) < m->wrong_percent) id = id == 'z' ? 'a' : id + 1;
    out[m->end_after > 0 && n >= m->end_after ? FAKE_END : id] = 20;
}

static int machine_step(struct backend *b, const struct backend_batch *batch, float *logits,
                        struct err *e) {
    struct machine *m = (struct machine *)b;
    int32_t rows = 0;
    if (backend_check_batch(&b->info, batch, e)) return -1;
    if (m->steps++ == m->fail_at) return err_set(e, "the machine fails");
    for (int32_t i = 0; i < batch->n_seqs; i++) {
        const struct backend_seq *q = &batch->seqs[i];
        for (int32_t k = 0; k < q->n_tokens; k++) {
            int32_t at = q->pos0 + k;
            m->kv[q->block_table[at / KV_BLOCK_TOKENS] * KV_BLOCK_TOKENS + at % KV_BLOCK_TOKENS] =
                q->tokens[k];
        }
        for (int32_t k = q->want_logits; k > 0; k--, logits += b->info.vocab_size)
            logits_after(m, q, q->pos0 + q->n_tokens - k + 1, logits);
        m->tokens += q->n_tokens;
        rows += q->want_logits;
    }
    if (rows > m->most_rows) m->most_rows = rows;
    return 0;
}

static void machine_free(struct backend *b) {
    (void)b;
}

static void machine_init(struct machine *m, int32_t draft_tokens, bool is_draft) {
    static const struct backend_ops ops = {machine_step, machine_free};
    *m = (struct machine){.fail_at = -1};
    m->b.ops = &ops;
    m->b.info = (struct backend_info){.name = "machine",
                                      .vocab_size = GW_VOCAB,
                                      .max_seq_tokens = CONTEXT,
                                      .max_step_tokens = BUDGET + (is_draft ? SEQS : 0),
                                      .max_seqs = SEQS,
                                      .max_logits = SEQS * (1 + draft_tokens),
                                      .kv_blocks = BLOCKS};
    for (size_t i = 0; i < sizeof m->kv / sizeof *m->kv; i++) m->kv[i] = -1;
}

/* ---- a run ----------------------------------------------------------------------------------- */

static struct tokenizer *tokenizer; /* made by main */
static struct machine target, draft;
static struct records *records;
static struct engine *engine;

static void begin(int32_t draft_tokens, const struct policy_ops *policy, const char *arg,
                  bool prefix_cache, struct step_log *log) {
    struct err e;
    machine_init(&target, draft_tokens, false);
    machine_init(&draft, 0, true);
    records = records_create(-1, 0, clock_monotonic(), &e);
    struct engine_options o = {.backend = &target.b,
                               .tokenizer = tokenizer,
                               .records = records,
                               .policy = policy,
                               .policy_arg = arg,
                               .clock = clock_monotonic(),
                               .max_waiting = MAX_REQUESTS,
                               .prefix_cache = prefix_cache,
                               .step_log = log,
                               .draft = draft_tokens ? &draft.b : NULL,
                               .draft_tokens = draft_tokens};
    engine = engine_create(&o, &e);
    ck_assert_msg(engine != NULL, "%s", e.text);
}

static void end(void) {
    ck_assert_int_eq(kv_pool_free_blocks(engine->kv), BLOCKS);
    engine_free(engine);
    records_free(records);
}

struct request {
    struct stream *stream;
    struct live_record *live;
    int64_t id;
    struct buffer text;
};

static struct request submit(const char *prompt, int32_t max_output, const char *stop,
                             const struct sampler_config *sampling) {
    struct request r = {.stream = stream_create(NULL)};
    struct err e;
    int32_t ids[CONTEXT], n = (int32_t)strlen(prompt);
    for (int32_t i = 0; i < n; i++) ids[i] = (unsigned char)prompt[i];
    r.live = records_open(records, NULL, 0, &e);
    struct engine_request q = {.prompt = ids,
                               .n_prompt = n,
                               .max_output = max_output,
                               .sampling =
                                   sampling ? *sampling : (struct sampler_config){.top_p = 1},
                               .stops = &(struct answer_stop){stop, stop ? strlen(stop) : 0},
                               .n_stops = stop != NULL,
                               .stream = r.stream,
                               .live = r.live};
    ck_assert_int_eq(engine_submit(engine, &q, &r.id), SUBMIT_OK);
    return r;
}

static enum engine_progress step(void) {
    int64_t wake;
    struct err e;
    return engine_step(engine, &wake, &e);
}

static void run_dry(void) {
    for (int i = 0; engine->n_waiting + engine->n_running > 0; i++) {
        INVARIANT(step() != ENGINE_FAULT && i < 100000);
    }
}

static struct stream_end take(struct request *r) {
    int32_t tokens;
    while (stream_take(r->stream, &r->text, &tokens) == 1) continue;
    buffer_puts(&r->text, "");
    return stream_end_of(r->stream);
}

static void release(struct request *r) {
    buffer_release(&r->text);
    stream_release(r->stream);
    live_end(records, r->live);
}

/* ---- the same answers ------------------------------------------------------------------------ */

struct answers {
    char text[MAX_REQUESTS][CONTEXT + 1];
    char reason[MAX_REQUESTS][16];
    int32_t tokens[MAX_REQUESTS];
    int64_t steps, preemptions, drafted, accepted;
};

/* 50 prompts: many begin alike; some answers end at a stop string, some at the limit, some at the
 * end token, some are sampled, some have penalties, and some clients leave. */
static void answer_all(int32_t draft_tokens, int32_t wrong_percent, const char *seed,
                       struct answers *all) {
    enum { N = 50 };
    static struct request r[N];
    struct rng rng;
    *all = (struct answers){0};
    begin(draft_tokens, seed ? &chaos : policy_learner(), seed ? seed : "", true, NULL);
    draft.wrong_percent = wrong_percent;
    target.end_after = draft.end_after = 90;
    rng_seed(&rng, 5);
    for (int i = 0; i < N; i++) {
        char prompt[80] = "the same words begin many of these prompts, so that blocks are shared: ";
        size_t keep = rng_below(&rng, 64);
        snprintf(prompt + keep, sizeof prompt - keep, "%d", i);
        struct sampler_config s = {.top_p = 0.9f, .seed = (uint64_t)i};
        s.temperature = i % 4 == 1 ? 12 : 0; /* the letters' logits differ by 1020 */
        s.rules.frequency_penalty = i % 4 == 2 ? 1.5f : 0;
        r[i] = submit(prompt, 1 + (int32_t)rng_below(&rng, 60), i % 4 == 3 ? "x" : NULL, &s);
    }
    engine_drain(engine);
    run_dry();
    for (int i = 0; i < N; i++) {
        struct stream_end how = take(&r[i]);
        ck_assert_int_eq(how.state, STREAM_DONE);
        snprintf(all->text[i], sizeof all->text[i], "%s", r[i].text.bytes);
        snprintf(all->reason[i], sizeof all->reason[i], "%s", how.finish_reason);
        all->tokens[i] = how.output_tokens;
        for (size_t k = 0; k < r[i].live->record.n_events; k++)
            all->preemptions += r[i].live->record.events[k].kind == EV_REQUEST_PREEMPTED;
        if (draft_tokens) {
            all->drafted += r[i].live->record.workload.draft_tokens;
            all->accepted += r[i].live->record.workload.accepted_draft_tokens;
        }
        release(&r[i]);
    }
    all->steps = target.steps;
    end();
}

START_TEST(answers_are_those_of_plain_decoding) {
    static struct answers plain, got;
    static const int32_t tokens[] = {1, 4, 16, 64};
    int64_t preemptions = 0;
    answer_all(0, 0, NULL, &plain);
    for (int wrong = 0; wrong <= 100; wrong += 50) {
        for (int k = 0; k < 3; k++) {
            char seed[16];
            snprintf(seed, sizeof seed, "%d", 100 * _i + 4 * wrong + k);
            answer_all(tokens[_i], wrong, k ? seed : NULL, &got);
            for (int i = 0; i < 50; i++) {
                ck_assert_str_eq(got.text[i], plain.text[i]);
                ck_assert_str_eq(got.reason[i], plain.reason[i]);
                ck_assert_int_eq(got.tokens[i], plain.tokens[i]);
            }
            preemptions += got.preemptions;
            if (wrong < 100) ck_assert_int_gt(got.accepted, 0);
            if (wrong == 100) ck_assert_int_lt(got.accepted, got.drafted / 4);
        }
        if (wrong == 0 && tokens[_i] > 1) ck_assert_int_lt(got.steps, plain.steps);
    }
    ck_assert_int_gt(preemptions, 20);
}
END_TEST

/* The draft is the target: nothing is ever rejected, however blocks are taken, shared and lost. So
 * the draft's cache holds no stale entry. */
START_TEST(a_perfect_draft_is_never_rejected) {
    int64_t drafted = 0, accepted = 0;
    for (int seed = 0; seed < 14; seed++) {
        static struct request r[30];
        char arg[16], prompt[80];
        snprintf(arg, sizeof arg, "%d", seed);
        begin(1 + 3 * seed % 20, seed % 4 ? &chaos : policy_learner(), seed % 4 ? arg : "",
              seed % 3, NULL);
        for (int i = 0; i < 30; i++) {
            snprintf(prompt, sizeof prompt, "%.*s%d", 7 * (i % 9),
                     "a beginning that these have in common, more or less of it", i % 17);
            r[i] = submit(prompt, 1 + (i * 7 + seed) % 90, NULL, NULL);
        }
        engine_drain(engine);
        run_dry();
        for (int i = 0; i < 30; i++) {
            ck_assert_int_eq(take(&r[i]).output_tokens, 1 + (i * 7 + seed) % 90);
            drafted += r[i].live->record.workload.draft_tokens;
            accepted += r[i].live->record.workload.accepted_draft_tokens;
            release(&r[i]);
        }
        end();
    }
    ck_assert_int_gt(drafted, 5000);
    ck_assert_int_eq(accepted, drafted);
}
END_TEST

/* ---- what is counted ------------------------------------------------------------------------- */

/* One request of 11 tokens with 4 drafted: the first by the prompt's step, then 5 + 5. */
START_TEST(steps_are_saved_and_counted) {
    begin(4, policy_learner(), "", false, NULL);
    struct request r = submit("prompt", 11, NULL, NULL);
    run_dry();
    const struct record *rec = &r.live->record;
    ck_assert_int_eq(take(&r).output_tokens, 11);
    ck_assert_int_eq(target.steps, 3);
    ck_assert_int_eq(target.tokens, 6 + 5 + 5);
    ck_assert_int_eq(target.most_rows, 5);
    /* the prompt; 4 tokens; the one it lacks and 4 more; the last of these, whose block is full */
    ck_assert_int_eq(draft.steps, 1 + 4 + 4 + 1);
    ck_assert_int_eq(draft.tokens, 6 + 4 + 5 + 1);
    ck_assert_int_eq(rec->workload.draft_steps, 2);
    ck_assert_int_eq(rec->workload.draft_tokens, 8);
    ck_assert_int_eq(rec->workload.accepted_draft_tokens, 8);
    release(&r);
    end();
}
END_TEST

START_TEST(rejected_work_is_charged_to_its_request) {
    begin(4, policy_learner(), "", false, NULL);
    draft.wrong_percent = 100;
    struct request r = submit("prompt", 11, NULL, NULL);
    run_dry();
    const struct record *rec = &r.live->record;
    ck_assert_int_eq(take(&r).output_tokens, 11);
    ck_assert_int_eq(target.steps, 11);
    /* 10 steps; the last five have fewer to draft: 3, 2, 1, 0 */
    ck_assert_int_eq(rec->workload.draft_tokens, 6 * 4 + 3 + 2 + 1);
    ck_assert_int_eq(rec->workload.draft_steps, 9);
    ck_assert_int_eq(rec->workload.accepted_draft_tokens, 0);
    ck_assert_int_eq(target.tokens, 6 + 10 + rec->workload.draft_tokens);
    release(&r);
    end();
}
END_TEST

/* The end of an answer within an accepted run: nothing behind it is said. */
START_TEST(an_answer_ends_within_a_run) {
    begin(0, policy_learner(), "", false, NULL);
    struct request r = submit("prompt", 40, NULL, NULL);
    run_dry();
    take(&r);
    char all[64], stop[2] = {r.text.bytes[6]}; /* its first occurrence is what counts */
    snprintf(all, sizeof all, "%s", r.text.bytes);
    int32_t at = (int32_t)(strchr(all, stop[0]) - all);
    release(&r);
    end();
    for (int end_token = 0; end_token < 2; end_token++) {
        begin(8, policy_learner(), "", false, NULL);
        if (end_token) target.end_after = draft.end_after = 6 + at;
        r = submit("prompt", 40, end_token ? NULL : stop, NULL);
        run_dry();
        struct stream_end how = take(&r);
        ck_assert_int_eq(target.steps, 2);
        ck_assert_str_eq(how.finish_reason, "stop");
        ck_assert_int_eq(how.output_tokens, at + !end_token);
        ck_assert_int_eq(r.text.n, (size_t)at);
        ck_assert_int_eq(memcmp(r.text.bytes, all, (size_t)at), 0);
        const struct record *rec = &r.live->record;
        ck_assert_int_eq(rec->workload.draft_tokens, 8);
        /* the choices behind the first token, less the one that the step gives anyway */
        ck_assert_int_eq(rec->workload.accepted_draft_tokens, at - 1);
        release(&r);
        end();
    }
}
END_TEST

START_TEST(a_client_that_leaves_is_dropped_at_the_next_step) {
    begin(4, policy_learner(), "", true, NULL);
    struct request a = submit("a prompt", 60, NULL, NULL), b = submit("b prompt", 60, NULL, NULL);
    step();
    step();
    ck_assert(engine_cancel(engine, a.id));
    run_dry();
    ck_assert_int_eq(take(&a).state, STREAM_CANCELLED);
    ck_assert_int_eq(a.live->record.workload.draft_tokens, 4);
    ck_assert_int_eq(a.live->record.workload.output_tokens, 6);
    ck_assert_int_eq(take(&b).output_tokens, 60);
    release(&a);
    release(&b);
    end();
}
END_TEST

START_TEST(a_draft_that_fails_fails_its_batch_alone) {
    begin(4, policy_learner(), "", true, NULL);
    struct request r = submit("prompt", 20, NULL, NULL);
    draft.fail_at = 3;
    step();
    struct err e;
    int64_t wake;
    ck_assert_int_eq(engine_step(engine, &wake, &e), ENGINE_FAULT);
    ck_assert_str_eq(e.text, "the draft model: the machine fails");
    ck_assert_int_eq(take(&r).state, STREAM_FAILED);
    release(&r);
    r = submit("prompt", 20, NULL, NULL);
    run_dry();
    ck_assert_int_eq(take(&r).output_tokens, 20);
    release(&r);
    end();
}
END_TEST

START_TEST(models_that_do_not_fit_are_refused) {
    struct err e;
    machine_init(&target, 4, false);
    struct engine_options o = {.backend = &target.b, .draft = &draft.b, .draft_tokens = 4};
    machine_init(&draft, 0, true);
    draft.b.info.vocab_size = 300;
    ck_assert(!speculation_create(&o, &e));
    ck_assert_msg(strstr(e.text, "300") && strstr(e.text, "share"), "%s", e.text);
    machine_init(&draft, 0, true);
    draft.b.info.max_seq_tokens = CONTEXT - 1;
    ck_assert(!speculation_create(&o, &e));
    ck_assert_msg(strstr(e.text, "199") && strstr(e.text, "200"), "%s", e.text);
    machine_init(&draft, 0, true);
    draft.b.info.kv_blocks = BLOCKS - 1;
    ck_assert(!speculation_create(&o, &e));
}
END_TEST

/* ---- the step log ---------------------------------------------------------------------------- */

static void sum_steps(void *ctx, const struct step *s, const char *line) {
    struct step *sum = ctx;
    ck_assert(s->speculates && strstr(line, "\"acceptance_rate\":"));
    if (s->decode_tokens == 1 && s->draft_tokens == 4 && s->accepted_draft_tokens == 4)
        ck_assert(strstr(line, "\"acceptance_rate\":1.000,\"tokens_per_pass\":5.000}"));
    sum->decode_tokens += s->decode_tokens;
    sum->draft_tokens += s->draft_tokens;
    sum->accepted_draft_tokens += s->accepted_draft_tokens;
}

/* The closed form agrees with the simulator's, and with what the engine does when each token is
 * accepted with the same probability. */
START_TEST(tokens_per_pass_follow_the_model) {
    for (int percent = 0; percent <= 100; percent += 5) {
        struct deployment d = {.draft_tokens = _i, .acceptance = percent / 100.0};
        ck_assert_double_eq_tol(speculation_tokens_per_pass(d.acceptance, _i),
                                deployment_tokens_per_round(&d), 1e-6 * (_i + 1));
    }
    for (int wrong = 10; wrong <= 60; wrong += 25) {
        char path[] = "/tmp/servelab-steps-XXXXXX";
        struct err e;
        struct clock clock = clock_monotonic();
        close(mkstemp(path));
        machine_init(&target, _i, false);
        struct step_log *log = step_log_open(path, &target.b, &clock, _i, &e);
        begin(_i, policy_learner(), "", false, log);
        draft.wrong_percent = wrong;
        static struct request r[60];
        for (int i = 0; i < 60; i++) {
            char prompt[32];
            snprintf(prompt, sizeof prompt, "%d:%d", wrong, i);
            r[i] = submit(prompt, 180, NULL, NULL);
        }
        engine_drain(engine);
        run_dry();
        int64_t accepted = 0;
        for (int i = 0; i < 60; i++) {
            take(&r[i]);
            accepted += r[i].live->record.workload.accepted_draft_tokens;
            release(&r[i]);
        }
        end();
        ck_assert(!step_log_close(log, &e));
        struct step sum = {0};
        ck_assert_msg(!step_log_each(path, sum_steps, &sum, &e), "%s", e.text);
        unlink(path);
        ck_assert_int_eq(sum.accepted_draft_tokens, accepted);
        double measured = 1 + (double)accepted / sum.decode_tokens;
        double model = speculation_tokens_per_pass(1 - wrong / 100.0, _i);
        /* some 1,800 passes or more: 4 standard deviations are below 4 %; short ends below 3 % */
        ck_assert_msg(fabs(measured / model - 1) < 0.07, "%d drafted, %d %% wrong: %g, model %g",
                      _i, wrong, measured, model);
    }
}
END_TEST

/* ---- the distribution ------------------------------------------------------------------------ */

/* Three tokens: every answer of 4 tokens has a probability that is a product of the target's. The
 * draft, whose favourites are others, must not show in the counts. */
START_TEST(sampled_answers_follow_the_targets_distribution) {
    enum { RUNS = 8000, LENGTH = 4, CELLS = 81 };
    static const float of_target[9] = {0.5f, 1.2f, 0, 2, 0.1f, 0.7f, 0, 0.4f, 1.1f};
    static const float of_draft[9] = {1, 0, 0.5f, 0.2f, 0.3f, 0, 0, 2, 1};
    int32_t count[CELLS] = {0};
    int64_t drafted = 0, accepted = 0;
    begin(3, policy_learner(), "", false, NULL);
    target.fixed = of_target;
    draft.fixed = of_draft;
    for (int i = 0; i < RUNS; i++) {
        struct sampler_config s = {.temperature = 1, .top_p = 1, .seed = (uint64_t)i * 77 + 5};
        struct request r = submit("a", LENGTH, NULL, &s);
        run_dry();
        take(&r);
        int cell = 0;
        for (int k = 0; k < LENGTH; k++) cell = 3 * cell + r.text.bytes[k] - 'a';
        count[cell]++;
        drafted += r.live->record.workload.draft_tokens;
        accepted += r.live->record.workload.accepted_draft_tokens;
        release(&r);
    }
    end();
    double chi2 = 0;
    for (int cell = 0; cell < CELLS; cell++) {
        double p = 1;
        int last = 0;
        for (int k = LENGTH - 1, rest = cell, digits[LENGTH]; k >= 0; k--) {
            digits[k] = rest % 3;
            rest /= 3;
            if (k > 0) continue;
            for (int j = 0; j < LENGTH; j++) {
                const float *row = of_target + 3 * last;
                double sum = exp((double)row[0]) + exp((double)row[1]) + exp((double)row[2]);
                p *= exp((double)row[last = digits[j]]) / sum;
            }
        }
        chi2 += (count[cell] - RUNS * p) * (count[cell] - RUNS * p) / (RUNS * p);
    }
    /* 80 degrees of freedom: mean 80, standard deviation 12.6. The seeds are fixed. */
    ck_assert_msg(chi2 < 80 + 4 * 12.65, "chi squared %g", chi2);
    ck_assert_int_gt(accepted, drafted / 10);
    ck_assert_int_lt(accepted, drafted * 9 / 10);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("speculation");
    TCase *c = tcase_create("speculation");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, answers_are_those_of_plain_decoding, 0, 4);
    tcase_add_test(c, a_perfect_draft_is_never_rejected);
    tcase_add_test(c, steps_are_saved_and_counted);
    tcase_add_test(c, rejected_work_is_charged_to_its_request);
    tcase_add_test(c, an_answer_ends_within_a_run);
    tcase_add_test(c, a_client_that_leaves_is_dropped_at_the_next_step);
    tcase_add_test(c, a_draft_that_fails_fails_its_batch_alone);
    tcase_add_test(c, models_that_do_not_fit_are_refused);
    tcase_add_loop_test(c, tokens_per_pass_follow_the_model, 3, 6);
    tcase_add_test(c, sampled_answers_follow_the_targets_distribution);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    tokenizer = fake_tokenizer();
    int rc = check_main(suite());
    tokenizer_free(tokenizer);
    return rc;
}
