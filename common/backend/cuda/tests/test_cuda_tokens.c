/* test_cuda_tokens.c: the CUDA backend on the CPU gives the native backend's greedy tokens: 50
 * prompts of the embedded model through the real engine, one at a time, and in mixed batches with
 * chunked prefill, preemption, prefix hits and blocks in any order, and with a draft model on the
 * same machine. The native backend answers one at a time, in float.
 *
 * servelab-test: long
 */
#include "backend/cuda/tests/machine.h"

#include "base/buffer.h"
#include "base/compare.h"
#include "serve/engine.h"
#include "serve/tests/chaos.h"
#include "testing/check_main.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PROMPTS = 50, LONGEST = 128, OUTPUT = 16, POSITIONS = 6, BUDGET = 64, TIGHT = 30 };
enum machine { NATIVE, SIMT_BF16, SIMT_EXACT };

static struct model *model;
static struct tokenizer *tokenizer;
static int32_t *prompts[PROMPTS], lengths[PROMPTS];
static int32_t draft_tokens; /* 0: no draft model */
static float temperature;    /* of all requests but each third; seeds are their numbers */
static bool host_chooses;    /* the backend makes no choices */
static bool scores;          /* all requests ask for the log-probability of each token */

struct result {
    char text[PROMPTS][200];
    struct token_score scores[PROMPTS][OUTPUT]; /* (n_scores[i]) */
    size_t n_scores[PROMPTS];
    int64_t preemptions, cached, accepted;
};
static struct result native;

/* The backend's step_choosing; and rows that it chose and scored, and those with logits. */
static int (*choosing)(struct backend *, const struct backend_batch *, struct backend_choice *,
                       float *, struct err *);
static int64_t chosen_and_scored, with_logits;

static int count_choices(struct backend *b, const struct backend_batch *batch,
                         struct backend_choice *choices, float *logits, struct err *e) {
    int rc = choosing(b, batch, choices, logits, e);
    for (int32_t i = 0, row = 0; i < batch->n_seqs; i++)
        for (int32_t k = 0; k < batch->seqs[i].want_logits; k++, row++) {
            chosen_and_scored += choices[row].id >= 0 && choices[row].scored;
            with_logits += choices[row].id < 0;
        }
    return rc;
}

static struct backend *open_machine(enum machine machine, int32_t positions, int32_t kv_blocks,
                                    bool is_draft) {
    struct err e;
    struct backend_config c = {.model = model,
                               .threads = 2,
                               .kv_blocks = kv_blocks,
                               .max_seq_tokens = LONGEST + OUTPUT,
                               .max_step_tokens = BUDGET + (is_draft ? positions : 0),
                               .max_seqs = positions,
                               .draft_tokens = is_draft ? 0 : draft_tokens};
    if (machine != NATIVE)
        return machine_open_with(&c, (struct backend_cuda_options){.precision = machine == SIMT_BF16
                                                                                    ? CUDA_BF16
                                                                                    : CUDA_EXACT});
    struct backend *b = backend_cpu_create(&c, &e);
    ck_assert_msg(b != NULL, "%s", b ? "" : e.text);
    return b;
}

static void submit_all(struct engine *g, struct stream **streams, struct live_record **live) {
    struct err e;
    for (int i = 0; i < PROMPTS; i++) {
        int64_t id;
        streams[i] = stream_create(NULL);
        live[i] = records_open(g->records, NULL, 0, &e);
        struct engine_request q = {.prompt = prompts[i],
                                   .n_prompt = lengths[i],
                                   .max_output = OUTPUT,
                                   .sampling = {.top_p = i % 2 ? 1 : 0.9f,
                                                .temperature = i % 3 ? temperature : 0,
                                                .top_k = i % 5 ? 0 : 12,
                                                .seed = (uint64_t)i},
                                   .scores = scores,
                                   .stream = streams[i],
                                   .live = live[i]};
        ck_assert_int_eq(engine_submit(g, &q, &id), SUBMIT_OK);
    }
}

static void collect(struct result *all, int i, struct stream *s, const struct live_record *live) {
    struct buffer text = {0};
    int32_t tokens;
    while (stream_take(s, &text, &tokens) == 1) continue;
    buffer_puts(&text, "");
    snprintf(all->text[i], sizeof all->text[i], "%s", text.bytes ? text.bytes : "");
    text.n = 0;
    stream_take_scores(s, &text, OUTPUT);
    all->n_scores[i] = text.n / sizeof all->scores[i][0];
    if (text.n > 0) memcpy(all->scores[i], text.bytes, text.n);
    buffer_release(&text);
    for (size_t k = 0; k < live->record.n_events; k++)
        all->preemptions += live->record.events[k].kind == EV_REQUEST_PREEMPTED;
    if (draft_tokens) all->accepted += live->record.workload.accepted_draft_tokens;
}

/* Every prompt, through the engine. */
static struct result answer_all(enum machine machine, const struct policy_ops *policy,
                                const char *arg, int32_t positions, int32_t kv_blocks,
                                bool prefix_cache) {
    struct err e;
    struct result all = {0};
    struct records *records = records_create(-1, 0, clock_monotonic(), &e);
    struct engine_options o = {.backend = open_machine(machine, positions, kv_blocks, false),
                               .tokenizer = tokenizer,
                               .records = records,
                               .policy = policy,
                               .policy_arg = arg,
                               .clock = clock_monotonic(),
                               .max_waiting = PROMPTS,
                               .prefix_cache = prefix_cache,
                               .draft_tokens = draft_tokens};
    if (draft_tokens) o.draft = open_machine(machine, positions, kv_blocks, true);
    choosing = o.backend->step_choosing;
    if (choosing) o.backend->step_choosing = host_chooses ? NULL : count_choices;
    struct engine *g = engine_create(&o, &e);
    struct stream *streams[PROMPTS];
    struct live_record *live[PROMPTS];
    submit_all(g, streams, live);
    engine_drain(g);
    while (g->n_waiting + g->n_running > 0) {
        int64_t wake;
        for (const struct seq *s = g->running; s; s = s->next)
            all.cached += s->cached > 0 && s->n_generated == 0 ? s->cached : 0;
        ck_assert_msg(engine_step(g, &wake, &e) != ENGINE_FAULT, "%s", e.text);
    }
    ck_assert_int_eq(kv_pool_free_blocks(g->kv), kv_pool_total_blocks(g->kv));
    for (int i = 0; i < PROMPTS; i++) {
        collect(&all, i, streams[i], live[i]);
        stream_release(streams[i]);
        live_end(records, live[i]);
    }
    engine_free(g);
    records_free(records);
    backend_free(o.backend);
    backend_free(o.draft);
    return all;
}

static void expect_native(const struct result *r, const char *what) {
    for (int i = 0; i < PROMPTS; i++)
        ck_assert_msg(!strcmp(r->text[i], native.text[i]), "prompt %d, %s: '%s', native: '%s'", i,
                      what, r->text[i], native.text[i]);
}

/* ---- the prompts ----------------------------------------------------------------------------- */

/* A small log and a question of the model's grammar; most logs begin alike. */
static void make_prompt(int i, struct rng *r) {
    char text[400], question[60];
    static const char *const tools[] = {"add %d and %d>", "subtract %d from %d>",
                                        "larger of %d and %d>", "%d+%d="};
    snprintf(question, sizeof question, tools[i % 4], 10 + (int)rng_below(r, 90),
             10 + (int)rng_below(r, 90));
    if (i % 5 == 4) snprintf(question, sizeof question, "? K7Q2");
    snprintf(text, sizeof text,
             "07:32 warn disk read 120 ms\nkey K7Q2 4815\n11:05 info cache flush ok\n%s%s",
             i % 3 == 2 ? "12:09 debug net load 7 slow\nkey B3F9 0042\n" : "", question);
    struct err e;
    int32_t *ids, n = tokenizer_encode(tokenizer, text, strlen(text), true, &ids, &e);
    ck_assert_msg(n > 0 && n <= LONGEST, "%d tokens", n);
    prompts[i] = ids;
    lengths[i] = n;
}

static void set_up(void) {
    struct err e;
    model = machine_model();
    tokenizer = tokenizer_create(model->file, &e);
    ck_assert_ptr_nonnull(tokenizer);
    struct rng r;
    rng_seed(&r, 12);
    for (int i = 0; i < PROMPTS; i++) make_prompt(i, &r);
    native =
        answer_all(NATIVE, policy_learner(), "", 1, policy_blocks_for(LONGEST + OUTPUT), false);
    for (int i = 0; i < PROMPTS; i++)
        ck_assert_msg(native.text[i][0], "prompt %d has no answer", i);
}

static void tear_down(void) {
    for (int i = 0; i < PROMPTS; i++) free(prompts[i]);
    tokenizer_free(tokenizer);
    model_free(model);
}

/* ---- the tests ------------------------------------------------------------------------------- */

START_TEST(one_at_a_time) {
    struct result r =
        answer_all(SIMT_BF16, policy_learner(), "", 1, policy_blocks_for(LONGEST + OUTPUT), false);
    expect_native(&r, "bf16, alone");
}
END_TEST

START_TEST(mixed_batches) {
    struct result r =
        answer_all(_i ? SIMT_EXACT : SIMT_BF16, &chaos, _i ? "7" : "8", POSITIONS, TIGHT, true);
    expect_native(&r, _i ? "exact, mixed" : "bf16, mixed");
    ck_assert_int_gt(r.preemptions, 0);
    ck_assert_int_gt(r.cached, 0);
}
END_TEST

/* The exact logits behind every prompt, which goes in in pieces, against the native backend's. */
START_TEST(exact_logits_of_every_prompt) {
    size_t vocab = (size_t)model->config.vocab_size;
    int32_t n_blocks = policy_blocks_for(LONGEST), *table = feed_table(0, n_blocks, 3);
    float *got = malloc(vocab * sizeof *got), *of_native = malloc(vocab * sizeof *of_native);
    double *want = malloc(vocab * sizeof *want), worst = 0;
    struct backend *cuda = open_machine(SIMT_EXACT, 1, n_blocks, false),
                   *cpu = open_machine(NATIVE, 1, n_blocks, false);
    for (int i = 0; i < PROMPTS; i++) {
        char text[200];
        feed_from(cuda, prompts[i], 0, lengths[i], 1 + i, table, got);
        feed_from(cpu, prompts[i], 0, lengths[i], 1 + i, table, of_native);
        for (size_t v = 0; v < vocab; v++) want[v] = of_native[v];
        struct comparison c = compare_floats(got, want, NULL, vocab, 1e-4);
        ck_assert_msg(c.ok, "prompt %d: %s", i, comparison_text(&c, text, sizeof text));
        worst = c.error > worst ? c.error : worst;
    }
    printf("# exact: at most %.1e of the greatest logit from the native backend\n", worst);
    backend_free(cuda);
    backend_free(cpu);
    free(table);
    free(got);
    free(of_native);
    free(want);
}
END_TEST

START_TEST(with_drafts) {
    draft_tokens = 3;
    struct result r =
        answer_all(_i ? SIMT_EXACT : SIMT_BF16, &chaos, _i ? "9" : "10", POSITIONS, TIGHT, true);
    draft_tokens = 0;
    expect_native(&r, _i ? "exact, with drafts" : "bf16, with drafts");
    ck_assert_int_gt(r.accepted, 100);
}
END_TEST

/* The same tokens with the same log-probabilities, whoever chooses them, with the same seeds. */
START_TEST(sampled_on_the_device_and_on_the_host) {
    static struct result r[2];
    scores = true;
    chosen_and_scored = with_logits = 0;
    temperature = 6; /* the model is sure of its answers */
    draft_tokens = _i ? 2 : 0;
    for (int k = 0; k < 2; k++) {
        host_chooses = k;
        r[k] = answer_all(SIMT_BF16, &chaos, "11", POSITIONS, TIGHT, true);
    }
    temperature = 0;
    draft_tokens = host_chooses = scores = 0;
    int other = 0;
    ck_assert_int_gt(chosen_and_scored, 10 * with_logits); /* these are too close to call */
    for (int i = 0; i < PROMPTS; i++) {
        ck_assert_msg(!strcmp(r[0].text[i], r[1].text[i]), "prompt %d: '%s', host: '%s'", i,
                      r[0].text[i], r[1].text[i]);
        other += strcmp(r[0].text[i], native.text[i]) != 0;
        ck_assert_uint_gt(r[0].n_scores[i], 0);
        ck_assert_uint_eq(r[0].n_scores[i], r[1].n_scores[i]);
        for (size_t k = 0; k < r[0].n_scores[i]; k++) {
            const struct token_score *d = &r[0].scores[i][k], *h = &r[1].scores[i][k];
            ck_assert_int_eq(d->id, h->id);
            ck_assert_msg(fabsf(d->logprob - h->logprob) <= 1e-5f * (1 + fabsf(h->logprob)),
                          "prompt %d, token %zu: %.9g, host %.9g", i, k, (double)d->logprob,
                          (double)h->logprob);
        }
    }
    ck_assert_int_gt(other, 10); /* they are sampled indeed */
}
END_TEST

int main(void) {
    Suite *s = suite_create("cuda tokens");
    TCase *t = tcase_create("tokens");
    tcase_set_timeout(t, 300);
    tcase_add_unchecked_fixture(t, set_up, tear_down);
    suite_add_tcase(s, t);
    tcase_add_test(t, one_at_a_time);
    tcase_add_loop_test(t, mixed_batches, 0, 2);
    tcase_add_test(t, exact_logits_of_every_prompt);
    tcase_add_loop_test(t, with_drafts, 0, 2);
    tcase_add_loop_test(t, sampled_on_the_device_and_on_the_host, 0, 2);
    return check_main(s);
}
