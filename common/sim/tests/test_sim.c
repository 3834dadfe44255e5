/* test_sim.c: the simulator against cases worked by hand, against brute force, and against what
 * must hold of every run. The closed forms of queueing theory are in test_theory.c. */
#include "simulate.h"

#include <stdio.h>

/* ---- by hand ---- */

static struct run four(const char *policy, int64_t setup_ms) {
    struct sim_request list[4];
    for (int i = 0; i < 4; i++)
        list[i] = (struct sim_request){.id = i,
                                       .arrival_ns = i * NS_PER_MS,
                                       .prompt_tokens = 1,
                                       .output_tokens = 1,
                                       .max_output_tokens = 1};
    struct setting set = {.policy = policy,
                          .cost = {.kind = COST_PER_REQUEST,
                                   .setup_ns = setup_ms * NS_PER_MS,
                                   .per_request_ns = NS_PER_MS}};
    struct run run = run_list(&set, list, 4);
    check_invariants(&run, 4, 0);
    return run;
}

static void expect_completions(const char *policy, int64_t setup_ms, const int64_t *ms) {
    struct run run = four(policy, setup_ms);
    for (int64_t i = 0; i < 4; i++)
        ck_assert_int_eq(outcome_of(&run, i)->completion_ns, ms[i] * NS_PER_MS);
    run_free(&run);
}

START_TEST(four_requests_by_hand) {
    expect_completions("single", 4, (int64_t[]){5, 10, 15, 20});
    expect_completions("wait-for-n:4", 4, (int64_t[]){11, 11, 11, 11});
    expect_completions("wait-for-n:3", 4,
                       (int64_t[]){9, 9, 9, 14}); /* the short group goes when no arrival is left */
    expect_completions("wait-for-time:2,8", 4, (int64_t[]){9, 9, 9, 14});
    expect_completions("wait-for-time:10,2", 4, (int64_t[]){7, 7, 13, 13});
    expect_completions("static:8", 4, (int64_t[]){5, 12, 12, 12});
    expect_completions("continuous", 4, (int64_t[]){5, 12, 12, 12});
    /* with a setup of 2 ms: mean 9 - batching helps less, and the first still waits longer (9
     * instead of 3) */
    expect_completions("single", 2, (int64_t[]){3, 6, 9, 12});
    expect_completions("wait-for-n:4", 2, (int64_t[]){9, 9, 9, 9});
}
END_TEST

/* ---- brute force: one worker, first come first served, a microsecond at a time ---- */

START_TEST(random_small_cases_equal_a_clock_that_ticks) {
    struct rng r;
    rng_seed(&r, 11);
    for (int trial = 0; trial < 400; trial++) {
        int n = 1 + (int)rng_below(&r, 8), group = 1 + (int)rng_below(&r, 4);
        int setup = (int)rng_below(&r, 6), each = 1 + (int)rng_below(&r, 4);
        struct sim_request list[8];
        int64_t at = 0;
        for (int i = 0; i < n; i++) {
            at += (int64_t)rng_below(&r, 5);
            list[i] = (struct sim_request){.id = i,
                                           .arrival_ns = at,
                                           .prompt_tokens = 1,
                                           .output_tokens = 1,
                                           .max_output_tokens = 1};
        }
        /* static:group on a ticking clock: at each tick, when free, take up to `group` of those
         * that have come */
        int64_t done[8], free_at = 0;
        for (int64_t tick = 0, served = 0; served < n; tick++) {
            if (tick < free_at) continue;
            int take = 0;
            while (served + take < n && take < group && list[served + take].arrival_ns <= tick)
                take++;
            if (!take) continue;
            free_at = tick + setup + take * each;
            for (int i = 0; i < take; i++) done[served++] = free_at;
        }
        char policy[32];
        snprintf(policy, sizeof policy, "static:%d", group);
        struct setting set = {
            .policy = policy,
            .cost = {.kind = COST_PER_REQUEST, .setup_ns = setup, .per_request_ns = each}};
        struct run run = run_list(&set, list, (size_t)n);
        check_invariants(&run, (size_t)n, 0);
        for (int i = 0; i < n; i++)
            ck_assert_msg(outcome_of(&run, i)->completion_ns == done[i],
                          "trial %d request %d: got %lld want %lld", trial, i,
                          (long long)outcome_of(&run, i)->completion_ns, (long long)done[i]);
        run_free(&run);
    }
}
END_TEST

/* ---- iteration level ---- */

enum { N_RANDOM = 150 };

static bool same_events(const struct run *a, const struct run *b) {
    if (a->n_events != b->n_events) return false;
    for (size_t i = 0; i < a->n_events; i++)
        if (a->events[i].id != b->events[i].id || a->events[i].kind != b->events[i].kind ||
            a->events[i].t_ns != b->events[i].t_ns)
            return false;
    return true;
}

static void expect_same_run(const struct run *a, const struct run *b, const char *what) {
    ck_assert_uint_eq(a->n, b->n);
    for (size_t i = 0; i < a->n; i++)
        ck_assert_msg(same_outcome(&a->outcomes[i], &b->outcomes[i]), "%s: outcome %zu", what, i);
    struct sim_counters x = a->counters, y = b->counters;
    x.policy_calls = y.policy_calls = 0;
    ck_assert_msg(!memcmp(&x, &y, sizeof x), "%s: the counters differ", what);
}

START_TEST(jumping_over_unchanged_iterations_changes_nothing) {
    static const int32_t blocks[] = {230, 600, 0};
    struct sim_request list[N_RANDOM];
    for (int p = 0; p < N_POLICIES; p++)
        for (uint64_t seed = 1; seed <= 6; seed++) {
            random_load(list, N_RANDOM, seed, 3000);
            struct setting set = {.policy = POLICIES[p],
                                  .cost = DECODER,
                                  .kv_blocks = blocks[seed % 3],
                                  .token_budget = 2048,
                                  .max_running = 16};
            struct run jump = run_list(&set, list, N_RANDOM);
            set.events = true;
            struct run watched = run_list(&set, list, N_RANDOM);
            set.ask_always = true;
            struct run step = run_list(&set, list, N_RANDOM);
            check_invariants(&jump, N_RANDOM, set.kv_blocks);
            expect_same_run(&jump, &watched, "with and without an event callback");
            expect_same_run(&jump, &step, "jumping or stepping");
            ck_assert(same_events(&watched, &step));
            ck_assert_int_lt(jump.counters.policy_calls, step.counters.policy_calls);
            run_free(&jump);
            run_free(&watched);
            run_free(&step);
        }
}
END_TEST

/* The events of one request against its outcome. */
static void check_events(const struct run *run, const struct sim_outcome *o) {
    int64_t count[EV_N] = {0}, last_ns = 0, token_ns = -1;
    for (size_t i = 0; i < run->n_events; i++) {
        const struct seen_event *t = &run->events[i];
        if (t->id != o->request.id) continue;
        ck_assert_int_ge(t->t_ns, last_ns);
        last_ns = t->t_ns;
        if (!count[t->kind]++) {
            if (t->kind == EV_REQUEST_ACCEPTED) ck_assert_int_eq(t->t_ns, o->request.arrival_ns);
            if (t->kind == EV_REQUEST_ADMITTED) ck_assert_int_eq(t->t_ns, o->start_ns);
            if (t->kind == EV_FIRST_TOKEN) ck_assert_int_eq(t->t_ns, o->first_token_ns);
        }
        if (t->kind != EV_TOKEN_SENT) continue;
        ck_assert_int_gt(t->t_ns, token_ns); /* one iteration, one token */
        token_ns = t->t_ns;
    }
    ck_assert_int_eq(last_ns, o->completion_ns);
    ck_assert_int_eq(count[EV_REQUEST_ACCEPTED], 1);
    ck_assert_int_eq(count[EV_REQUEST_ADMITTED], 1);
    ck_assert_int_eq(count[EV_FIRST_TOKEN], 1);
    ck_assert_int_eq(count[EV_TOKEN_SENT], o->output_tokens);
    ck_assert_int_eq(count[EV_REQUEST_PREEMPTED], o->preemptions);
    ck_assert_int_eq(count[EV_REQUEST_RESUMED], o->preemptions);
    ck_assert_int_eq(count[EV_RESPONSE_FINISHED], o->end == SIM_COMPLETED);
    ck_assert_int_eq(count[EV_REQUEST_FAILED], o->end == SIM_FAILED);
}

START_TEST(events_tell_what_the_outcomes_say) {
    struct sim_request list[N_RANDOM];
    random_load(list, N_RANDOM, 5, 3000);
    struct setting set = {.policy = "chunked",
                          .cost = DECODER,
                          .kv_blocks = 230,
                          .token_budget = 512,
                          .max_running = 32,
                          .events = true};
    struct run run = run_list(&set, list, N_RANDOM);
    check_invariants(&run, N_RANDOM, 230);
    ck_assert_int_gt(run.counters.preemptions, 0);
    ck_assert_int_gt(run.counters.failed, 0);
    for (size_t i = 0; i < run.n; i++) check_events(&run, &run.outcomes[i]);
    run_free(&run);
}
END_TEST

START_TEST(tight_memory_preempts_and_still_ends) {
    struct sim_request list[N_RANDOM];
    int64_t preempted = 0;
    for (int p = 0; p < N_POLICIES; p++) {
        random_load(list, N_RANDOM, 9, 3000);
        struct setting set = {.policy = POLICIES[p],
                              .cost = DECODER,
                              .kv_blocks = 230,
                              .token_budget = 512,
                              .max_running = 32};
        struct run run = run_list(&set, list, N_RANDOM);
        check_invariants(&run, N_RANDOM, 230);
        ck_assert_int_eq(run.counters.rejected, 0);
        preempted += run.counters.preemptions;
        run_free(&run);
    }
    ck_assert_int_gt(preempted, 0);
}
END_TEST

START_TEST(a_request_larger_than_the_cache_is_refused_at_once) {
    struct sim_request list[] = {{.id = 0,
                                  .arrival_ns = 0,
                                  .prompt_tokens = 500,
                                  .output_tokens = 10,
                                  .max_output_tokens = 10},
                                 {.id = 1,
                                  .arrival_ns = 5,
                                  .prompt_tokens = 5000,
                                  .output_tokens = 10,
                                  .max_output_tokens = 10},
                                 {.id = 2,
                                  .arrival_ns = 9,
                                  .prompt_tokens = 500,
                                  .output_tokens = 10,
                                  .max_output_tokens = 10}};
    struct setting set = {.policy = "continuous", .cost = DECODER, .kv_blocks = 100};
    struct run run = run_list(&set, list, 3);
    check_invariants(&run, 3, 100);
    const struct sim_outcome *o = outcome_of(&run, 1);
    ck_assert_int_eq(o->end, SIM_REJECTED_TOO_LARGE);
    ck_assert_int_eq(o->completion_ns, 5);
    ck_assert_ptr_nonnull(o->reason);
    run_free(&run);
}
END_TEST

/* One request alone: 20 prompt tokens, 14 output tokens; an iteration takes 1 ms. */
START_TEST(the_use_of_the_cache_over_time_by_hand) {
    struct sim_request one = {
        .id = 0, .prompt_tokens = 20, .output_tokens = 14, .max_output_tokens = 14};
    struct setting set = {.policy = "continuous",
                          .cost = {.kind = COST_PER_REQUEST, .per_request_ns = NS_PER_MS}};
    struct run run = run_list(&set, &one, 1);
    check_invariants(&run, 1, 0);
    /* 14 iterations, with 20, 21, ... 33 tokens in the cache: 13 of them in two blocks, the last
     * in three */
    ck_assert_int_eq(run.counters.iterations, 14);
    ck_assert(run.counters.kv_time == (13 * 2 + 3) * NS_PER_MS);
    ck_assert(run.counters.kv_token_time == (20 + 33) * 14 / 2 * NS_PER_MS);
    run_free(&run);
}
END_TEST

START_TEST(a_request_that_breaks_ends_with_the_tokens_it_made) {
    struct sim_request list[] = {{.id = 0,
                                  .prompt_tokens = 5,
                                  .output_tokens = 10,
                                  .max_output_tokens = 10,
                                  .fail_after = 3},
                                 {.id = 1,
                                  .prompt_tokens = 5,
                                  .output_tokens = 10,
                                  .max_output_tokens = 10,
                                  .fail_after = 10},
                                 {.id = 2,
                                  .prompt_tokens = 5,
                                  .output_tokens = 10,
                                  .max_output_tokens = 10,
                                  .wanted_tokens = 50,
                                  .fail_after = 11}};
    struct setting set = {.policy = "continuous",
                          .cost = {.kind = COST_PER_REQUEST, .per_request_ns = NS_PER_MS}};
    struct run run = run_list(&set, list, 3);
    check_invariants(&run, 3, 0);
    ck_assert_int_eq(run.counters.failed, 2);
    ck_assert_int_eq(outcome_of(&run, 0)->end, SIM_FAILED);
    ck_assert_int_eq(outcome_of(&run, 0)->output_tokens, 3);
    ck_assert_int_eq(outcome_of(&run, 0)->completion_ns, 3 * 3 * NS_PER_MS);
    ck_assert_int_eq(outcome_of(&run, 1)->end, SIM_FAILED);
    ck_assert_int_eq(outcome_of(&run, 2)->end, SIM_COMPLETED);
    ck_assert_int_eq(outcome_of(&run, 2)->completion_ns, (3 * 3 + 7 * 2) * NS_PER_MS);
    run_free(&run);
}
END_TEST

START_TEST(prefix_reuse_saves_computing_and_no_blocks) {
    static const uint64_t prefix[] = {11, 12, 13, 14};
    struct sim_request list[3];
    for (int i = 0; i < 3; i++)
        list[i] = (struct sim_request){.id = i,
                                       .arrival_ns = i * NS_PER_S,
                                       .prompt_tokens = i < 2 ? 128 : 100,
                                       .output_tokens = 2,
                                       .max_output_tokens = 2,
                                       .prefix = prefix,
                                       .n_prefix = i < 2 ? 4 : 2,
                                       .prefix_unit = 32};
    struct setting set = {.policy = "chunked",
                          .cost = DECODER,
                          .kv_blocks = 9,
                          .token_budget = 48,
                          .prefix_tokens = 1000};
    struct run run = run_list(&set, list, 3);
    check_invariants(&run, 3, 9);
    ck_assert_int_eq(outcome_of(&run, 0)->cached_tokens, 0);
    ck_assert_int_eq(outcome_of(&run, 1)->cached_tokens, 127); /* the last token is computed */
    ck_assert_int_eq(outcome_of(&run, 2)->cached_tokens, 64);
    ck_assert_int_eq(run.counters.kv_peak_blocks, 9);
    ck_assert_int_eq(run.counters.computed_tokens, 128 + 1 + 1 + 1 + 36 + 1);
    run_free(&run);
    set.prefix_tokens = 0;
    run = run_list(&set, list, 3);
    check_invariants(&run, 3, 9);
    ck_assert_int_eq(run.counters.cached_tokens, 0);
    run_free(&run);
}
END_TEST

/* ---- what must not matter ---- */

START_TEST(renaming_requests_changes_nothing) {
    struct sim_request list[N_RANDOM], renamed[N_RANDOM];
    random_load(list, N_RANDOM, 3, 3000);
    for (int i = 0; i < N_RANDOM; i++) renamed[i] = list[i], renamed[i].id = 1000 - 7 * i;
    for (int p = 0; p < N_POLICIES; p++) {
        struct setting set = {.policy = POLICIES[p],
                              .cost = DECODER,
                              .kv_blocks = 400,
                              .token_budget = 1024,
                              .max_running = 8};
        struct run a = run_list(&set, list, N_RANDOM), b = run_list(&set, renamed, N_RANDOM);
        for (size_t i = 0; i < N_RANDOM; i++) {
            ck_assert_int_eq(b.outcomes[i].request.id, 1000 - 7 * a.outcomes[i].request.id);
            b.outcomes[i].request.id = a.outcomes[i].request.id;
        }
        expect_same_run(&a, &b, POLICIES[p]);
        run_free(&a);
        run_free(&b);
    }
}
END_TEST

/* How many later arrivals were admitted before request i. */
static int64_t overtakers(const struct run *run, size_t n, size_t i, int64_t within_ns) {
    const struct sim_outcome *mine = outcome_of(run, (int64_t)i);
    int64_t count = 0;
    for (size_t j = i + 1; j < n; j++) {
        const struct sim_outcome *o = outcome_of(run, (int64_t)j);
        if (o->start_ns >= mine->start_ns) continue;
        ck_assert_int_lt(o->request.arrival_ns - mine->request.arrival_ns, within_ns);
        count++;
    }
    return count;
}

/* policies.h: no request is overtaken, except under shortest-first by those that arrive within as
 * many milliseconds as the prompt has tokens. */
START_TEST(no_request_is_overtaken_more_often_than_its_policy_allows) {
    struct sim_request list[N_RANDOM];
    int64_t under_shortest = 0;
    for (int p = 0; p < N_POLICIES; p++) {
        random_load(list, N_RANDOM, 4, 3000);
        bool shortest = !strcmp(POLICIES[p], "shortest-first");
        struct setting set = {.policy = POLICIES[p],
                              .cost = DECODER,
                              .kv_blocks = 300,
                              .token_budget = 4096,
                              .max_running = 8};
        struct run run = run_list(&set, list, N_RANDOM);
        check_invariants(&run, N_RANDOM, 300);
        for (size_t i = 0; i < N_RANDOM; i++) {
            int64_t window_ns = shortest ? list[i].prompt_tokens * NS_PER_MS : 0;
            int64_t count = overtakers(&run, N_RANDOM, i, window_ns);
            if (shortest) under_shortest += count;
        }
        run_free(&run);
    }
    ck_assert_int_gt(under_shortest, 0); /* or the test saw nothing */
}
END_TEST

static double throughput(const struct run *run) {
    int64_t ns = run->counters.last_completion_ns - run->counters.first_arrival_ns;
    return (double)run->counters.completed * (double)NS_PER_S / (double)ns;
}

/* At saturation, where throughput means something: all requests are there at once. Exactly so where
 * requests run one at a time; test_fleet.c has the same for more servers. Groups have Graham's
 * anomaly (SIAM J. Appl. Math. 17, 1969): with more room a long request can share a group with
 * short ones that then wait for it, and 2 % is allowed for that. */
START_TEST(more_capacity_never_lowers_throughput_without_preemption) {
    static const char *const policies[] = {"single", "static:4", "static:16", "wait-for-n:8",
                                           "shortest-first"};
    enum { N = 600 };
    static struct sim_request list[N];
    int raised = 0;
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++)
        for (uint64_t seed = 1; seed <= 20; seed++) {
            random_load(list, N, seed, 3000);
            for (int i = 0; i < N; i++) list[i].arrival_ns = 0;
            struct setting set = {
                .policy = policies[p], .cost = DECODER, .token_budget = 1 << 16, .max_running = 64};
            double before = 0;
            for (set.kv_blocks = 225; set.kv_blocks <= 3600; set.kv_blocks *= 2) {
                struct run run = run_list(&set, list, N);
                check_invariants(&run, N, set.kv_blocks);
                ck_assert_int_eq(run.counters.preemptions, 0);
                double now = throughput(&run);
                bool groups = strchr(policies[p], ':') != NULL;
                ck_assert_msg(now >= (groups ? 0.98 : 1) * before,
                              "%s, seed %d: %.4f requests/s with %d blocks, %.4f "
                              "with half of them",
                              policies[p], (int)seed, now, set.kv_blocks, before);
                raised += now > before * 1.01 && before > 0;
                before = now;
                run_free(&run);
            }
        }
    ck_assert_int_gt(raised, 10);
}
END_TEST

/* ---- closed loops ---- */

struct client {
    int64_t next_ns, sent, ended;
};

static void client_hears(void *ctx, const struct sim_outcome *o) {
    struct client *c = ctx;
    c->ended++;
    c->next_ns = o->completion_ns; /* no time to think */
}

START_TEST(a_closed_loop_sends_at_the_instant_of_an_end) {
    struct client client = {0};
    struct err e;
    const char *arg;
    const struct policy_ops *policy = policy_find("single", &arg, &e);
    struct sim_config c = {.policy = policy,
                           .policy_state = policy->create(arg, &e),
                           .cost = {.kind = COST_PER_REQUEST, .per_request_ns = 5},
                           .kv_blocks = 1,
                           .token_budget = 1,
                           .max_running = 1,
                           .max_in_system = INT64_MAX,
                           .each = client_hears,
                           .ctx = &client};
    struct sim *s = sim_create(&c, &e);
    while (client.sent < 10) {
        struct sim_request r = {.id = client.sent++,
                                .arrival_ns = client.next_ns,
                                .prompt_tokens = 1,
                                .output_tokens = 1,
                                .max_output_tokens = 1};
        ck_assert_int_eq(sim_push(s, &r, &e), 0);
        ck_assert_int_eq(sim_run_to_end(s, INT64_MAX, &e), 1);
        ck_assert_int_eq(client.ended, client.sent);
        ck_assert_int_eq(client.next_ns, 5 * client.sent);
    }
    ck_assert_int_eq(sim_run_to_end(s, INT64_MAX, &e), 0);
    ck_assert_int_eq(sim_next_ns(s), INT64_MAX);
    ck_assert_int_eq(sim_finish(s, &e), 0);
    ck_assert_int_eq(sim_counters(s)->busy_ns, 50); /* never idle in between */
    sim_free(s);
    policy->destroy(c.policy_state);
}
END_TEST

struct not_before {
    int64_t next_ns;
    int64_t ends;
};

static void not_before_next(void *ctx, const struct sim_outcome *o) {
    struct not_before *n = ctx;
    ck_assert_int_ge(o->completion_ns, n->next_ns);
    n->ends++;
}

START_TEST(nothing_ends_before_the_time_that_sim_next_ns_tells) {
    struct sim_request list[N_RANDOM];
    random_load(list, N_RANDOM, 8, 3000);
    for (int p = 0; p < N_POLICIES; p++) {
        struct not_before n = {0};
        struct run run = {0};
        struct setting set = {.policy = POLICIES[p], .cost = DECODER, .kv_blocks = 300};
        struct sim_config c = config_of(&set, &run);
        const char *arg;
        struct err e;
        c.policy_state = policy_find(POLICIES[p], &arg, &e)->create(arg, &e);
        c.each = not_before_next;
        c.ctx = &n;
        struct sim *s = sim_create(&c, &e);
        for (size_t i = 0; i < N_RANDOM; i++) {
            for (;;) { /* as fleets go from one event to the next */
                n.next_ns = sim_next_ns(s);
                if (n.next_ns >= list[i].arrival_ns) break;
                ck_assert_int_eq(sim_run_until(s, n.next_ns, &e), 0);
                if (sim_next_ns(s) == n.next_ns) /* a decision, which comes after effects */
                    ck_assert_int_eq(sim_run_until(s, n.next_ns + 1, &e), 0);
                else
                    ck_assert_int_gt(sim_next_ns(s), n.next_ns);
            }
            ck_assert_int_eq(sim_run_until(s, list[i].arrival_ns, &e), 0);
            ck_assert_int_eq(sim_push(s, &list[i], &e), 0);
        }
        n.next_ns = 0;
        ck_assert_int_eq(sim_finish(s, &e), 0);
        ck_assert_int_eq(n.ends, N_RANDOM);
        sim_free(s);
        c.policy->destroy(c.policy_state);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("simulator");
    TCase *t = tcase_create("sim");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, four_requests_by_hand);
    tcase_add_test(t, random_small_cases_equal_a_clock_that_ticks);
    tcase_add_test(t, jumping_over_unchanged_iterations_changes_nothing);
    tcase_add_test(t, events_tell_what_the_outcomes_say);
    tcase_add_test(t, tight_memory_preempts_and_still_ends);
    tcase_add_test(t, a_request_larger_than_the_cache_is_refused_at_once);
    tcase_add_test(t, the_use_of_the_cache_over_time_by_hand);
    tcase_add_test(t, a_request_that_breaks_ends_with_the_tokens_it_made);
    tcase_add_test(t, prefix_reuse_saves_computing_and_no_blocks);
    tcase_add_test(t, renaming_requests_changes_nothing);
    tcase_add_test(t, no_request_is_overtaken_more_often_than_its_policy_allows);
    tcase_add_test(t, more_capacity_never_lowers_throughput_without_preemption);
    tcase_add_test(t, a_closed_loop_sends_at_the_instant_of_an_end);
    tcase_add_test(t, nothing_ends_before_the_time_that_sim_next_ns_tells);
    suite_add_tcase(s, t);
    return check_main(s);
}
