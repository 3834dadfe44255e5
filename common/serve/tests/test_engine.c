/* test_engine.c: the engine over a fake backend, step by step, without HTTP and without threads:
 * order, chunks, blocks, cancellation, failures, preemption, and what is stamped.
 */
/* servelab-test: waits */
#include "testing/check_main.h"

#include "base/buffer.h"
#include "serve/engine.h"
#include "serve/tests/fake.h"

#include <string.h>

enum { BLOCKS = 8, CONTEXT = 200, BUDGET = 32 };

static struct fake *fake;
static struct tokenizer *tokenizer;
static struct records *records;
static struct engine *engine;

static void set_up_with(const struct policy_ops *policy, int32_t seqs) {
    struct err e;
    fake = fake_create(seqs, BLOCKS, CONTEXT, BUDGET);
    tokenizer = fake_tokenizer();
    records = records_create(-1, 0, clock_monotonic(), &e);
    struct engine_options o = {.backend = &fake->b,
                               .tokenizer = tokenizer,
                               .records = records,
                               .policy = policy,
                               .policy_arg = "",
                               .clock = clock_monotonic(),
                               .max_waiting = 4};
    engine = engine_create(&o, &e);
    ck_assert_msg(engine != NULL, "%s", e.text);
}

static void set_up(void) {
    set_up_with(policy_learner(), 1);
}

static void tear_down(void) {
    engine_free(engine);
    records_free(records);
    tokenizer_free(tokenizer);
    backend_free(&fake->b);
}

/* ---- one request as a test sees it ----------------------------------------------------------- */

struct request {
    struct live_record *live;
    struct stream *stream;
    int64_t id;
    struct buffer text;
    int32_t tokens; /* of the pieces taken */
};

static struct request submit_ids(const int32_t *ids, int32_t n, int32_t max_output,
                                 const char *stop, bool ignore_end, enum engine_submit want) {
    struct request r = {.stream = stream_create(NULL), .id = -1};
    struct err e;
    r.live = records_open(records, NULL, 0, &e);
    ck_assert(r.live && r.stream);
    struct engine_request q = {.prompt = ids,
                               .n_prompt = n,
                               .max_output = max_output,
                               .sampling = {.top_p = 1},
                               .n_stops = stop ? 1 : 0,
                               .stops = &(struct answer_stop){stop, stop ? strlen(stop) : 0},
                               .ignore_end = ignore_end,
                               .stream = r.stream,
                               .live = r.live};
    ck_assert_int_eq(engine_submit(engine, &q, &r.id), want);
    return r;
}

static struct request submit(const char *prompt, int32_t max_output) {
    int32_t ids[256], n = (int32_t)strlen(prompt);
    for (int32_t i = 0; i < n; i++) ids[i] = (unsigned char)prompt[i];
    return submit_ids(ids, n, max_output, NULL, false, SUBMIT_OK);
}

static struct request submit_stop(const char *prompt, const char *stop) {
    int32_t ids[256], n = (int32_t)strlen(prompt);
    for (int32_t i = 0; i < n; i++) ids[i] = (unsigned char)prompt[i];
    return submit_ids(ids, n, 64, stop, false, SUBMIT_OK);
}

static void release(struct request *r) {
    stream_release(r->stream);
    live_end(records, r->live);
    buffer_release(&r->text);
}

static enum engine_progress step(void) {
    int64_t wake;
    struct err e;
    return engine_step(engine, &wake, &e);
}

static void run_dry(void) {
    for (int i = 0; step() != ENGINE_IDLE; i++) ck_assert_int_lt(i, 2000);
}

static struct stream_end take_all(struct request *r) {
    int32_t tokens;
    while (stream_take(r->stream, &r->text, &tokens) == 1) r->tokens += tokens;
    buffer_puts(&r->text, "");
    return stream_end_of(r->stream);
}

static bool stamped(const struct request *r, enum event_kind kind) {
    return record_event(&r->live->record, kind) != NULL;
}

static int64_t at(const struct request *r, enum event_kind kind) {
    ck_assert_msg(stamped(r, kind), "%s is missing", event_name(kind));
    return record_event(&r->live->record, kind)->t_ns;
}

static void expect(struct request *r, const char *text, const char *finish_reason,
                   int32_t output_tokens) {
    struct stream_end end = take_all(r);
    ck_assert_int_eq(end.state, STREAM_DONE);
    ck_assert_str_eq(r->text.bytes, text);
    ck_assert_str_eq(end.finish_reason, finish_reason);
    ck_assert_int_eq(end.output_tokens, output_tokens);
    ck_assert_int_eq(r->tokens + end.closing_tokens, output_tokens);
    ck_assert_int_eq(r->live->record.workload.output_tokens, output_tokens);
    ck_assert_str_eq(r->live->record.outcome.finish_reason, finish_reason);
    release(r);
}

static void expect_abort(struct request *r, enum stream_state how, const char *part_of_error) {
    struct stream_end end = take_all(r);
    ck_assert_int_eq(end.state, how);
    ck_assert_msg(strstr(end.error, part_of_error) != NULL, "'%s' lacks '%s'", end.error,
                  part_of_error);
    ck_assert_str_eq(r->live->record.outcome.error, end.error);
    release(r);
}

static void expect_all_blocks_free(void) {
    ck_assert_int_eq(kv_pool_free_blocks(engine->kv), BLOCKS);
    ck_assert_int_eq(engine->n_running + engine->n_waiting, 0);
}

/* ---- the plain path -------------------------------------------------------------------------- */

START_TEST(answers_in_chunks_and_through_its_blocks) {
    fake_say(fake, NULL);
    struct request r = submit("0123456789 abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMN", 64);
    run_dry();
    ck_assert_int_eq(fake->largest_step, BUDGET);
    ck_assert_int_eq(fake->started, 2 + 52); /* two chunks of prompt, one step a token but the
                                                first, one that gives the end */
    ck_assert(at(&r, EV_REQUEST_ADMITTED) <= at(&r, EV_FIRST_TOKEN));
    expect(&r, "NMLKJIHGFEDCBA zyxwvutsrqponmlkjihgfedcba 9876543210", "stop", 52);
    expect_all_blocks_free();
}
END_TEST

START_TEST(first_come_first_served) {
    fake_say(fake, "xy");
    struct request a = submit("a", 8), b = submit("b", 8);
    step();
    ck_assert(stamped(&a, EV_REQUEST_ADMITTED));
    ck_assert(!stamped(&b, EV_REQUEST_ADMITTED));
    struct engine_load load = engine_load_of(engine);
    ck_assert_int_eq(load.running, 1);
    ck_assert_int_eq(load.waiting, 1);
    run_dry();
    ck_assert(at(&a, EV_FIRST_TOKEN) < at(&b, EV_REQUEST_ADMITTED));
    expect(&a, "xy", "stop", 2);
    expect(&b, "xy", "stop", 2);
    expect_all_blocks_free();
}
END_TEST

START_TEST(length_ends_an_answer) {
    fake_say(fake, "abcdef");
    struct request r = submit("p", 3);
    run_dry();
    expect(&r, "abc", "length", 3);
}
END_TEST

START_TEST(empty_answer_has_no_first_token) {
    fake_say(fake, "");
    struct request r = submit("p", 3);
    run_dry();
    ck_assert(!stamped(&r, EV_FIRST_TOKEN));
    expect(&r, "", "stop", 0);
}
END_TEST

START_TEST(ignored_end_token_gives_the_exact_length) {
    fake_say(fake, "ab");
    int32_t ids[] = {'p'};
    struct request r = submit_ids(ids, 1, 6, NULL, true, SUBMIT_OK);
    run_dry();
    expect(&r, "ab", "length", 6); /* four end tokens, which have no text */
}
END_TEST

START_TEST(first_token_precedes_first_text) {
    fake_say(fake, "\xe2\x82\xac!"); /* the euro sign in three tokens */
    struct request r = submit("p", 8);
    int32_t tokens;
    step();
    ck_assert(stamped(&r, EV_FIRST_TOKEN));
    ck_assert_int_eq(stream_take(r.stream, &r.text, &tokens), 0);
    step();
    step();
    ck_assert_int_eq(stream_take(r.stream, &r.text, &tokens), 1);
    ck_assert_str_eq(r.text.bytes, "\xe2\x82\xac");
    ck_assert_int_eq(tokens, 3);
    r.tokens = tokens;
    run_dry();
    expect(&r, "\xe2\x82\xac!", "stop", 4);
}
END_TEST

START_TEST(half_a_character_at_the_end_is_replaced) {
    fake_say(fake, "a\xe2\x82");
    struct request r = submit("p", 8);
    run_dry();
    expect(&r, "a\xef\xbf\xbd", "stop", 3);
}
END_TEST

START_TEST(stop_string_across_tokens_is_cut) {
    fake_say(fake, "12\n\n34");
    struct request r = submit_stop("p", "\n\n");
    run_dry();
    ck_assert_int_eq(fake->started, 4); /* nothing is computed behind it */
    expect(&r, "12", "stop", 4);
    fake_say(fake, "12\n34");
    r = submit_stop("p", "\n\n");
    run_dry();
    expect(&r, "12\n34", "stop", 5); /* text that only began like a stop string is sent */
}
END_TEST

/* ---- the queue's ends ------------------------------------------------------------------------ */

START_TEST(full_queue_and_draining_refuse) {
    struct request r[5];
    int32_t ids[] = {'p'};
    fake_say(fake, "x");
    for (int i = 0; i < 4; i++) r[i] = submit("p", 2);
    r[4] = submit_ids(ids, 1, 2, NULL, false, SUBMIT_FULL);
    release(&r[4]);
    engine_drain(engine);
    r[4] = submit_ids(ids, 1, 2, NULL, false, SUBMIT_DRAINING);
    release(&r[4]);
    run_dry(); /* accepted requests are finished */
    for (int i = 0; i < 4; i++) expect(&r[i], "x", "stop", 1);
    expect_all_blocks_free();
}
END_TEST

START_TEST(larger_than_the_cache_is_refused_while_another_runs) {
    fake_say(fake, "xxxx");
    struct request a = submit("a", 4);
    step();
    int32_t id = 'b';
    struct request big =
        submit_ids(&id, 1, BLOCKS * KV_BLOCK_TOKENS, NULL, false, SUBMIT_TOO_LARGE);
    struct request fits = submit("c", BLOCKS * KV_BLOCK_TOKENS - 1);
    run_dry();
    release(&big);
    expect(&a, "xxxx", "length", 4);
    expect(&fits, "xxxx", "stop", 4);
}
END_TEST

START_TEST(empty_prompt_is_rejected) {
    struct request r = submit("", 4);
    run_dry();
    expect_abort(&r, STREAM_REJECTED, "empty");
}
END_TEST

/* ---- clients that go away -------------------------------------------------------------------- */

START_TEST(cancel_while_queued) {
    fake_say(fake, "xx");
    struct request a = submit("a", 4), b = submit("b", 4), c = submit("c", 4);
    step();
    ck_assert(engine_cancel(engine, b.id));
    step();
    ck_assert_int_eq(engine->n_waiting, 1);
    ck_assert(stamped(&b, EV_REQUEST_CANCELLED));
    ck_assert(!stamped(&b, EV_REQUEST_ADMITTED));
    expect_abort(&b, STREAM_CANCELLED, "went away");
    run_dry();
    expect(&a, "xx", "stop", 2);
    expect(&c, "xx", "stop", 2);
}
END_TEST

START_TEST(cancel_during_prefill_chunks) {
    fake_say(fake, "xx");
    struct request a = submit("0123456789012345678901234567890123456789", 4), b = submit("b", 4);
    step(); /* the first chunk of two */
    ck_assert(!stamped(&a, EV_FIRST_TOKEN));
    ck_assert_int_lt(kv_pool_free_blocks(engine->kv), BLOCKS);
    ck_assert(engine_cancel(engine, a.id));
    step(); /* frees the position and gives it to b in the same step */
    ck_assert(stamped(&a, EV_REQUEST_CANCELLED));
    ck_assert(stamped(&b, EV_REQUEST_ADMITTED));
    ck_assert(!stamped(&a, EV_FIRST_TOKEN));
    ck_assert_int_eq(kv_pool_free_blocks(engine->kv), BLOCKS - 1);
    expect_abort(&a, STREAM_CANCELLED, "went away");
    run_dry();
    expect(&b, "xx", "stop", 2);
    expect_all_blocks_free();
}
END_TEST

START_TEST(cancel_during_decode) {
    fake_say(fake, "xxxxxxxx");
    struct request a = submit("a", 8), b = submit("b", 2);
    step();
    step();
    ck_assert(engine_cancel(engine, a.id));
    step();
    ck_assert(stamped(&a, EV_REQUEST_CANCELLED));
    ck_assert(stamped(&b, EV_REQUEST_ADMITTED));
    ck_assert_int_eq(a.live->record.workload.output_tokens, 2);
    expect_abort(&a, STREAM_CANCELLED, "went away");
    run_dry();
    ck_assert(!engine_cancel(engine, b.id)); /* it has ended: no event is stamped */
    expect(&b, "xx", "length", 2);
    expect_all_blocks_free();
}
END_TEST

START_TEST(stop_cancels_what_is_left) {
    fake_say(fake, "xx");
    struct request a = submit("a", 8), b = submit("b", 2);
    step();
    engine_stop(engine);
    engine_join(engine);
    ck_assert(stamped(&a, EV_REQUEST_CANCELLED));
    ck_assert(stamped(&b, EV_REQUEST_CANCELLED));
    expect_abort(&a, STREAM_CANCELLED, "stopping");
    expect_abort(&b, STREAM_CANCELLED, "stopping");
    expect_all_blocks_free();
}
END_TEST

/* ---- faults ---------------------------------------------------------------------------------- */

START_TEST(backend_fault_ends_the_batch_only) {
    fake_say(fake, "xyz");
    struct request a = submit("a", 8), b = submit("b", 8);
    step();
    fake->fail_at = fake->started;
    ck_assert_int_eq(step(), ENGINE_FAULT);
    expect_abort(&a, STREAM_FAILED, "fails at step 1");
    run_dry();
    expect(&b, "xyz", "stop", 3);
    expect_all_blocks_free();
}
END_TEST

START_TEST(nan_logits_are_a_fault) {
    fake_say(fake, "xyz");
    fake->nan_at = 1;
    struct request a = submit("a", 8);
    run_dry();
    expect_abort(&a, STREAM_FAILED, "logit 7");
    expect_all_blocks_free();
}
END_TEST

START_TEST(reader_who_never_reads_is_cut_off) {
    fake_say(fake, "x");
    struct request a = submit("a", 8);
    static char much[STREAM_MAX_BYTES];
    memset(much, 'm', sizeof much);
    ck_assert_int_eq(stream_push(a.stream, much, sizeof much, 1), 0);
    run_dry();
    ck_assert_int_eq(take_all(&a).state, STREAM_FAILED);
    release(&a);
    expect_all_blocks_free();
}
END_TEST

/* ---- other policies -------------------------------------------------------------------------- */

static int made_up_id_plan(void *state, const struct policy_view *v, struct policy_plan *plan,
                           struct err *e) {
    (void)state, (void)v, (void)e;
    plan->actions[plan->n_actions++] = (struct policy_action){POLICY_RUN, 12345, 1, NULL};
    return 0;
}

/* Runs all it can; preempts the newest of two running requests once, when it has three tokens. */
static int preempting_plan(void *state, const struct policy_view *v, struct policy_plan *plan,
                           struct err *e) {
    (void)state, (void)e;
    int32_t budget = v->token_budget, free_positions = v->max_running - (int32_t)v->n_running;
    const struct policy_request *out = NULL;
    for (size_t i = 0; i < v->n_running; i++)
        if (v->n_running == 2 && v->running[i].generated_tokens == 3 && !v->running[i].preemptions)
            out = &v->running[i];
    if (out)
        plan->actions[plan->n_actions++] = (struct policy_action){POLICY_PREEMPT, out->id, 0, NULL};
    for (size_t i = 0; i < v->n_running + v->n_waiting; i++) {
        bool runs = i < v->n_running;
        const struct policy_request *r = runs ? &v->running[i] : &v->waiting[i - v->n_running];
        int32_t left = r->prompt_tokens + r->generated_tokens - r->computed_tokens;
        if (r == out || budget == 0 || (!runs && free_positions-- <= 0)) continue;
        if (left > budget) left = budget;
        budget -= left;
        plan->actions[plan->n_actions++] = (struct policy_action){POLICY_RUN, r->id, left, NULL};
    }
    return 0;
}

static void *make_nothing(const char *arg, struct err *e) {
    (void)e;
    return (void *)(uintptr_t)arg;
}
static void free_nothing(void *state) {
    (void)state;
}
static const struct policy_ops made_up_id = {"made-up-id", make_nothing, made_up_id_plan,
                                             free_nothing};
static const struct policy_ops preempting = {"preempting", make_nothing, preempting_plan,
                                             free_nothing};

START_TEST(policy_that_breaks_a_rule_is_named) {
    set_up_with(&made_up_id, 1);
    struct request a = submit("a", 8);
    ck_assert_int_eq(step(), ENGINE_FAULT);
    expect_abort(&a, STREAM_FAILED, "neither waits nor runs");
    ck_assert_int_eq(step(), ENGINE_IDLE);
    tear_down();
}
END_TEST

START_TEST(preempted_request_is_recomputed_and_answers_the_same) {
    set_up_with(&preempting, 2);
    fake_say(fake, NULL);
    struct request a = submit("0123456789abcdefghi", 30), b = submit("ABCDEFGHIJKLMNOPQRSTU", 30);
    run_dry();
    ck_assert(stamped(&a, EV_REQUEST_PREEMPTED) != stamped(&b, EV_REQUEST_PREEMPTED));
    struct request *out = stamped(&a, EV_REQUEST_PREEMPTED) ? &a : &b;
    ck_assert(at(out, EV_REQUEST_PREEMPTED) < at(out, EV_REQUEST_RESUMED));
    ck_assert(at(out, EV_FIRST_TOKEN) < at(out, EV_REQUEST_PREEMPTED));
    expect_all_blocks_free();
    /* The fake backend takes the recomputed part for prompt: what follows is its mirror again. */
    struct stream_end end = take_all(&a);
    ck_assert_int_eq(end.state, STREAM_DONE);
    ck_assert_msg(!strncmp(a.text.bytes, "ihg", 3), "%s", a.text.bytes);
    ck_assert_int_eq(take_all(&b).state, STREAM_DONE);
    ck_assert_msg(!strncmp(b.text.bytes, "UTS", 3), "%s", b.text.bytes);
    release(&a);
    release(&b);
    tear_down();
}
END_TEST

static Suite *engine_suite(void) {
    Suite *s = suite_create("engine");
    TCase *c = tcase_create("single");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, answers_in_chunks_and_through_its_blocks);
    tcase_add_test(c, first_come_first_served);
    tcase_add_test(c, length_ends_an_answer);
    tcase_add_test(c, empty_answer_has_no_first_token);
    tcase_add_test(c, ignored_end_token_gives_the_exact_length);
    tcase_add_test(c, first_token_precedes_first_text);
    tcase_add_test(c, half_a_character_at_the_end_is_replaced);
    tcase_add_test(c, stop_string_across_tokens_is_cut);
    tcase_add_test(c, full_queue_and_draining_refuse);
    tcase_add_test(c, larger_than_the_cache_is_refused_while_another_runs);
    tcase_add_test(c, empty_prompt_is_rejected);
    tcase_add_test(c, cancel_while_queued);
    tcase_add_test(c, cancel_during_prefill_chunks);
    tcase_add_test(c, cancel_during_decode);
    tcase_add_test(c, stop_cancels_what_is_left);
    tcase_add_test(c, backend_fault_ends_the_batch_only);
    tcase_add_test(c, nan_logits_are_a_fault);
    tcase_add_test(c, reader_who_never_reads_is_cut_off);
    suite_add_tcase(s, c);
    TCase *p = tcase_create("other policies");
    tcase_add_test(p, policy_that_breaks_a_rule_is_named);
    tcase_add_test(p, preempted_request_is_recomputed_and_answers_the_same);
    suite_add_tcase(s, p);
    return s;
}

int main(void) {
    return check_main(engine_suite());
}
