/* test_parts.c: the small parts of the serving path alone: KV blocks, the policy on one place, stop
 * strings, the stream's hand-over, stamps.
 */
#include "testing/check_main.h"

#include "base/buffer.h"
#include "base/rng.h"
#include "serve/answer.h"
#include "serve/kv_blocks.h"
#include "serve/stamps.h"
#include "serve/stream.h"
#include "serve/tests/fake.h"

#include <signal.h>
#include <string.h>

/* ---- KV blocks ------------------------------------------------------------------------------- */

START_TEST(reserve_is_all_or_nothing) {
    struct err e = {0};
    struct kv_pool *p = kv_pool_create(4, &e);
    struct kv_table a = {0}, b = {0};
    ck_assert_int_eq(kv_table_reserve(p, &a, 0, &e), 0);
    ck_assert_int_eq(a.n_blocks, 0);
    ck_assert_int_eq(kv_table_reserve(p, &a, 17, &e), 0);
    ck_assert_int_eq(a.n_blocks, 2);
    ck_assert_int_eq(kv_table_reserve(p, &a, 5, &e), 0); /* it never shrinks */
    ck_assert_int_eq(a.n_blocks, 2);
    ck_assert_int_eq(kv_table_reserve(p, &b, 33, &e), -1);
    ck_assert(strstr(e.text, "3 more") && strstr(e.text, "2 are free"));
    ck_assert_int_eq(b.n_blocks, 0);
    ck_assert_int_eq(kv_pool_free_blocks(p), 2);
    ck_assert_int_eq(kv_table_reserve(p, &b, 32, &e), 0);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) ck_assert_int_ne(a.blocks[i], b.blocks[j]);
    kv_table_release(p, &a);
    ck_assert_int_eq(kv_pool_free_blocks(p), 2);
    kv_table_release(p, &a); /* an empty table has nothing to give back */
    kv_table_release(p, &b);
    ck_assert_int_eq(kv_pool_free_blocks(p), kv_pool_total_blocks(p));
    kv_pool_free(p);
}
END_TEST

START_TEST(double_release_aborts) {
    struct err e;
    struct kv_pool *p = kv_pool_create(4, &e);
    struct kv_table a = {0};
    ck_assert_int_eq(kv_table_reserve(p, &a, 20, &e), 0);
    int32_t copy[2] = {a.blocks[0], a.blocks[1]};
    struct kv_table stale = {
        .blocks = memcpy(malloc(sizeof copy), copy, sizeof copy), .n_blocks = 2, .cap = 2};
    kv_table_release(p, &a);
    kv_table_release(p, &stale);
}
END_TEST

/* ---- prefix reuse ---- */

static void count_up(int32_t *tokens, int32_t n, int32_t from) {
    for (int32_t i = 0; i < n; i++) tokens[i] = from + i;
}

START_TEST(a_published_prefix_is_shared_block_by_block) {
    struct err e;
    struct kv_pool *p = kv_pool_create(8, &e);
    struct kv_table a = {0}, b = {0}, c = {0};
    int32_t tokens[64], other[64];
    count_up(tokens, 64, 100);
    count_up(other, 64, 100);
    other[20] = 7; /* the second block differs, the third is the same again */
    ck_assert_int_eq(kv_table_share(p, &a, tokens, 64), 0);
    ck_assert_int_eq(kv_table_reserve(p, &a, 50, &e), 0);
    kv_table_publish(p, &a, tokens, 50);
    ck_assert_int_eq(kv_table_share(p, &b, tokens, 64), 48); /* full blocks only */
    for (int i = 0; i < 3; i++) ck_assert_int_eq(b.blocks[i], a.blocks[i]);
    ck_assert_int_eq(kv_pool_free_blocks(p), 4);
    ck_assert_int_eq(kv_table_share(p, &c, other, 64), 16); /* equal blocks behind a difference
                                                               are no equal prefix */
    kv_table_release(p, &a);
    ck_assert_int_eq(kv_pool_free_blocks(p), 5); /* three are held by b still */
    kv_table_release(p, &c);
    kv_table_release(p, &b);
    ck_assert_int_eq(kv_pool_free_blocks(p), 8);
    ck_assert_int_eq(kv_table_share(p, &c, tokens, 47), 32); /* known although no table holds it */
    kv_table_release(p, &c);
    kv_pool_free(p);
}
END_TEST

START_TEST(the_least_recently_used_prefix_goes_first_and_from_its_end) {
    struct err e;
    int32_t old[32], young[32];
    count_up(old, 32, 100);
    count_up(young, 32, 200);
    /* after `taken` new blocks: two were never used, then the old prefix goes, then the young */
    static const int32_t left_old[] = {32, 32, 32, 16, 0, 0, 0};
    static const int32_t left_young[] = {32, 32, 32, 32, 32, 16, 0};
    for (int taken = 0; taken <= 6; taken++) {
        struct kv_pool *p = kv_pool_create(6, &e);
        struct kv_table t = {0}, all = {0}, look = {0};
        for (int round = 0; round < 2; round++) {
            ck_assert_int_eq(kv_table_reserve(p, &t, 32, &e), 0);
            kv_table_publish(p, &t, round ? young : old, 32);
            kv_table_release(p, &t);
        }
        ck_assert_int_eq(kv_table_reserve(p, &all, taken * 16, &e), 0);
        ck_assert_int_eq(kv_table_share(p, &look, young, 32), left_young[taken]);
        kv_table_release(p, &look);
        ck_assert_int_eq(kv_table_share(p, &look, old, 32), left_old[taken]);
        kv_table_release(p, &look);
        kv_table_release(p, &all);
        kv_pool_free(p);
    }
}
END_TEST

START_TEST(equal_prompts_at_once_publish_one_of_their_copies) {
    struct err e;
    struct kv_pool *p = kv_pool_create(8, &e);
    struct kv_table a = {0}, b = {0}, c = {0};
    int32_t tokens[48];
    count_up(tokens, 48, 1);
    ck_assert_int_eq(kv_table_reserve(p, &a, 48, &e), 0);
    ck_assert_int_eq(kv_table_reserve(p, &b, 48, &e), 0);
    kv_table_publish(p, &a, tokens, 16);
    kv_table_publish(p, &b, tokens, 48); /* its first block is there; the others are new */
    kv_table_publish(p, &a, tokens, 48);
    ck_assert_int_eq(kv_table_share(p, &c, tokens, 48), 48);
    ck_assert_int_eq(c.blocks[0], a.blocks[0]);
    ck_assert_int_eq(c.blocks[1], b.blocks[1]);
    kv_table_release(p, &a);
    kv_table_release(p, &b);
    kv_table_release(p, &c);
    ck_assert_int_eq(kv_pool_free_blocks(p), 8);
    kv_pool_free(p);
}
END_TEST

/* Random sharing against what the blocks would hold: no table's block ever changes. */
START_TEST(random_sharing_never_mixes_contents) {
    enum { POOL = 24, TABLES = 6, LONGEST = 96 };
    struct err e;
    struct kv_pool *p = kv_pool_create(POOL, &e);
    struct kv_table t[TABLES] = {0};
    int32_t tokens[TABLES][LONGEST], computed[TABLES] = {0};
    /* what the backend would have written: keys and values depend on all tokens up to theirs, which
     * a hash of them stands for */
    static uint64_t held[POOL][KV_BLOCK_TOKENS];
    static uint64_t up_to[TABLES][LONGEST];
    int64_t shared = 0;
    struct rng r;
    rng_seed(&r, 5);
    for (int turn = 0; turn < 20000; turn++) {
        int i = (int)rng_below(&r, TABLES);
        if (t[i].n_blocks == 0) { /* begins with one of three prefixes, ends in its own way */
            int32_t head = (int32_t)rng_below(&r, 80), which = (int32_t)rng_below(&r, 3);
            for (int k = 0; k < LONGEST; k++)
                tokens[i][k] = k < head ? which : (int32_t)rng_below(&r, 3);
            uint64_t h = 1;
            for (int k = 0; k < LONGEST; k++)
                up_to[i][k] = h = (h + (uint64_t)tokens[i][k] + 1) * UINT64_C(0x9E3779B97F4A7C15);
            computed[i] = kv_table_share(p, &t[i], tokens[i], LONGEST - 1);
            shared += computed[i];
        }
        int32_t more = 1 + (int32_t)rng_below(&r, 40);
        if (computed[i] + more > LONGEST || kv_table_reserve(p, &t[i], computed[i] + more, &e)) {
            kv_table_release(p, &t[i]);
            continue;
        }
        for (int32_t k = computed[i]; k < computed[i] + more; k++)
            held[t[i].blocks[k / KV_BLOCK_TOKENS]][k % KV_BLOCK_TOKENS] = up_to[i][k];
        computed[i] += more;
        kv_table_publish(p, &t[i], tokens[i], computed[i]);
        int64_t wrong = 0;
        for (int j = 0; j < TABLES; j++)
            for (int32_t k = 0; t[j].n_blocks > 0 && k < computed[j]; k++)
                wrong += held[t[j].blocks[k / KV_BLOCK_TOKENS]][k % KV_BLOCK_TOKENS] != up_to[j][k];
        ck_assert_int_eq(wrong, 0);
    }
    ck_assert_int_gt(shared, 10000);
    for (int i = 0; i < TABLES; i++) kv_table_release(p, &t[i]);
    ck_assert_int_eq(kv_pool_free_blocks(p), POOL);
    kv_pool_free(p);
}
END_TEST

START_TEST(a_pool_without_blocks_is_refused) {
    struct err e = {0};
    ck_assert_ptr_null(kv_pool_create(0, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "at least 1"));
}
END_TEST

/* ---- policy ---------------------------------------------------------------------------------- */

static struct policy_action plan_of(const struct policy_view *v, size_t *n, size_t which) {
    static struct policy_action actions[8];
    struct policy_plan plan = {.actions = actions, .cap_actions = 8};
    struct err e;
    const struct policy_ops *p = policy_learner();
    void *state = p->create("", &e);
    ck_assert_ptr_nonnull(state);
    ck_assert_msg(!p->plan(state, v, &plan, &e), "%s", e.text);
    ck_assert_msg(!policy_check(v, &plan, &e), "%s", e.text);
    p->destroy(state);
    *n = plan.n_actions;
    return which < plan.n_actions ? actions[which] : (struct policy_action){0};
}

START_TEST(one_place_runs_the_oldest_in_chunks) {
    struct policy_request w[] = {{.id = 5, .prompt_tokens = 70, .max_output_tokens = 8},
                                 {.id = 2, .prompt_tokens = 3, .max_output_tokens = 8}};
    struct policy_view v = {.waiting = w,
                            .n_waiting = 2,
                            .free_kv_blocks = 8,
                            .total_kv_blocks = 8,
                            .token_budget = 32,
                            .max_running = 1};
    size_t n;
    struct policy_action a = plan_of(&v, &n, 0);
    ck_assert_uint_eq(n, 1);
    ck_assert(a.verb == POLICY_RUN && a.id == 5 && a.tokens == 32);
    struct policy_request r = {.id = 5,
                               .prompt_tokens = 70,
                               .max_output_tokens = 8,
                               .computed_tokens = 64,
                               .kv_blocks = 4};
    v = (struct policy_view){.waiting = w + 1,
                             .n_waiting = 1,
                             .running = &r,
                             .n_running = 1,
                             .free_kv_blocks = 4,
                             .total_kv_blocks = 8,
                             .token_budget = 32,
                             .max_running = 1};
    a = plan_of(&v, &n, 0);
    ck_assert(n == 1 && a.id == 5 && a.tokens == 6);
    r.computed_tokens = 71, r.generated_tokens = 2, r.kv_blocks = 5, v.free_kv_blocks = 3;
    a = plan_of(&v, &n, 0);
    ck_assert(n == 1 && a.id == 5 && a.tokens == 1);
}
END_TEST

START_TEST(the_policy_rejects_what_can_never_run) {
    struct policy_request w[] = {{.id = 1, .prompt_tokens = 120, .max_output_tokens = 9},
                                 {.id = 2, .prompt_tokens = 0, .max_output_tokens = 9},
                                 {.id = 3, .prompt_tokens = 120, .max_output_tokens = 8}};
    struct policy_view v = {.waiting = w,
                            .n_waiting = 3,
                            .free_kv_blocks = 8,
                            .total_kv_blocks = 8,
                            .token_budget = 200,
                            .max_running = 1};
    size_t n;
    struct policy_action a = plan_of(&v, &n, 0);
    ck_assert(n == 3 && a.verb == POLICY_REJECT && a.id == 1 && strstr(a.reason, "whole cache"));
    a = plan_of(&v, &n, 1);
    ck_assert(a.verb == POLICY_REJECT && a.id == 2 && strstr(a.reason, "empty"));
    a = plan_of(&v, &n, 2);
    ck_assert(a.verb == POLICY_RUN && a.id == 3 && a.tokens == 120);
}
END_TEST

START_TEST(the_policy_takes_no_argument) {
    struct err e = {0};
    ck_assert_ptr_null(policy_learner()->create("4", &e));
    ck_assert_str_eq(e.field, "--policy");
}
END_TEST

/* ---- stop strings ---------------------------------------------------------------------------- */

/* Feeds text byte by byte as tokens; "|" in the result stands between pieces. */
static void answer_of(const char *text, const char *const *stops, int32_t min_tokens, char *out,
                      bool *stopped) {
    struct tokenizer *t = fake_tokenizer();
    struct answer a;
    struct answer_piece piece = {0};
    struct err e;
    struct answer_stop list[5];
    int32_t n = 0;
    for (; stops[n]; n++) list[n] = (struct answer_stop){stops[n], strlen(stops[n])};
    ck_assert(!answer_init(&a, t, list, n, min_tokens, &e));
    out[0] = '\0';
    *stopped = false;
    for (; *text && !*stopped; text++) {
        ck_assert(!answer_push(&a, (unsigned char)*text, &piece, &e));
        if (piece.n > 0)
            sprintf(out + strlen(out), "%.*s%d|", (int)piece.n, piece.text, piece.tokens);
        *stopped = piece.stopped;
    }
    ck_assert(!answer_end(&a, &piece, &e));
    if (piece.n > 0) sprintf(out + strlen(out), "%.*s%d|", (int)piece.n, piece.text, piece.tokens);
    answer_release(&a);
    tokenizer_free(t);
}

static const struct {
    const char *text, *stops[5], *want;
    bool stopped;
    int32_t min_tokens;
} stop_cases[] = {
    {"abc", {NULL}, "a1|b1|c1|", false, 0},
    {"abcd", {"bc"}, "a1|", true, 0},
    {"abXd", {"bc"}, "a1|bX2|d1|", false, 0},
    {"aab", {"ab"}, "a2|", true, 0},       /* the first a is released once the second came */
    {"ababac", {"abac"}, "ab4|", true, 0}, /* a stop that overlaps its own beginning */
    {"xyz", {"yz", "y"}, "x1|", true, 0},  /* the one that is complete first */
    {"xENDy", {"ENDLESS", "ND"}, "x1|E3|", true, 0}, /* the text before the stop is released */
    {"abcde", {"bcdX", "cde"}, "a1|b4|", true, 0},
    {"ab", {"abc"}, "ab2|", false, 0}, /* the end decides */
    {"\xc3\xa9!",
     {"!"},
     "\xc3\xa9"
     "2|",
     true,
     0},
    {"a.b.c.", {"."}, "a1|.1|b1|.1|c1|", true, 4}, /* the first two stops come too early */
    {"a.b.c.", {"."}, "a1|.1|b1|", true, 3},       /* the fourth token is late enough */
    {"xENDy", {"END"}, "x1|", true, 3},            /* it begins early, and is complete late */
};

START_TEST(stop_strings_are_withheld_and_cut) {
    char out[200];
    bool stopped;
    answer_of(stop_cases[_i].text, stop_cases[_i].stops, stop_cases[_i].min_tokens, out, &stopped);
    ck_assert_str_eq(out, stop_cases[_i].want);
    ck_assert_int_eq(stopped, stop_cases[_i].stopped);
}
END_TEST

/* ---- stream ---------------------------------------------------------------------------------- */

START_TEST(pieces_of_a_slow_reader_are_joined_with_their_tokens) {
    struct stream *s = stream_create(NULL);
    struct buffer all = {0};
    int32_t tokens, sum = 0, pieces = 0;
    for (int i = 0; i < 100; i++) ck_assert_int_eq(stream_push(s, "ab", 2, 2), 0);
    stream_finish(s, "stop", 201, 1, -1);
    stream_abort(s, STREAM_FAILED, "too late"); /* the first end counts */
    for (; stream_take(s, &all, &tokens) == 1; pieces++) sum += tokens;
    ck_assert_int_eq(pieces, STREAM_MAX_PIECES);
    ck_assert_int_eq(sum, 200);
    ck_assert_uint_eq(all.n, 200);
    struct stream_end end = stream_end_of(s);
    ck_assert_int_eq(end.state, STREAM_DONE);
    ck_assert_int_eq(end.closing_tokens, 1);
    ck_assert_int_eq(stream_take(s, &all, &tokens), -1);
    buffer_release(&all);
    stream_release(s);
}
END_TEST

START_TEST(a_stream_is_bounded) {
    struct stream *s = stream_create(NULL);
    static char half[STREAM_MAX_BYTES / 2];
    ck_assert_int_eq(stream_push(s, half, sizeof half, 1), 0);
    ck_assert_int_eq(stream_push(s, half, sizeof half, 1), 0);
    ck_assert_int_eq(stream_push(s, half, 1, 1), -1);
    stream_release(s);
}
END_TEST

/* ---- stamps ---------------------------------------------------------------------------------- */

static int64_t tick(void *ctx) {
    return ++*(int64_t *)ctx;
}

START_TEST(stamps_read_the_clock_once_and_say_who_did) {
    int64_t now = 0;
    struct clock c = {tick, &now, NULL, "CLOCK_MONOTONIC"};
    struct record r;
    struct err e = {0};
    record_init(&r);
    strcpy(r.request_id, "r-1");
    r.attempt = 1;
    stamp_accepted(&r, &c);
    stamp_tokenized(&r, &c, 7);
    stamp_admitted(&r, &c);
    stamp_first_token(&r, &c);
    stamp_first_token(&r, &c);
    stamp_preempted(&r, &c);
    stamp_admitted(&r, &c);
    stamp_token_sent(&r, &c, 2);
    stamp_finished(&r, &c);
    static const enum event_kind kinds[] = {
        EV_REQUEST_ACCEPTED,  EV_TOKENIZATION_FINISHED, EV_REQUEST_ADMITTED, EV_FIRST_TOKEN,
        EV_REQUEST_PREEMPTED, EV_REQUEST_RESUMED,       EV_TOKEN_SENT,       EV_RESPONSE_FINISHED};
    ck_assert_uint_eq(r.n_events, 8);
    for (size_t i = 0; i < 8; i++) {
        const struct event *ev = &r.events[i];
        bool scheduler = i == 2 || i == 4 || i == 5;
        ck_assert_int_eq(ev->kind, kinds[i]);
        ck_assert_int_eq(ev->t_ns, i < 4 ? (int64_t)i + 1 : (int64_t)i + 2);
        ck_assert_int_eq(ev->clock, CLOCK_SERVER);
        ck_assert_int_eq(ev->source, scheduler ? SRC_SCHEDULER_LOG : SRC_SERVER_LOG);
        ck_assert_str_eq(ev->clock_api, "CLOCK_MONOTONIC");
        ck_assert_int_eq(ev->tokens, i == 6 ? 2 : 0);
    }
    ck_assert_int_eq(r.workload.prompt_tokens, 7);
    ck_assert_msg(!record_validate(&r, &e), "%s: %s", e.field, e.text);
    record_release(&r);
}
END_TEST

static Suite *parts_suite(void) {
    Suite *s = suite_create("parts");
    TCase *c = tcase_create("parts");
    tcase_add_test(c, reserve_is_all_or_nothing);
    tcase_add_test_raise_signal(c, double_release_aborts, SIGABRT);
    tcase_add_test(c, a_pool_without_blocks_is_refused);
    tcase_add_test(c, a_published_prefix_is_shared_block_by_block);
    tcase_add_test(c, the_least_recently_used_prefix_goes_first_and_from_its_end);
    tcase_add_test(c, equal_prompts_at_once_publish_one_of_their_copies);
    tcase_add_test(c, random_sharing_never_mixes_contents);
    tcase_add_test(c, one_place_runs_the_oldest_in_chunks);
    tcase_add_test(c, the_policy_rejects_what_can_never_run);
    tcase_add_test(c, the_policy_takes_no_argument);
    tcase_add_loop_test(c, stop_strings_are_withheld_and_cut, 0,
                        sizeof stop_cases / sizeof *stop_cases);
    tcase_add_test(c, pieces_of_a_slow_reader_are_joined_with_their_tokens);
    tcase_add_test(c, a_stream_is_bounded);
    tcase_add_test(c, stamps_read_the_clock_once_and_say_who_did);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return check_main(parts_suite());
}
