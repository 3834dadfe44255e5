/* test_sim_limits.c: what a simulated server refuses: settings, requests, policies that make no
 * sense; and the odd policies that it must bear. */
#include "simulate.h"

/* ---- settings ---- */

START_TEST(settings_that_make_no_sense_are_refused_by_name) {
    struct run run = {0};
    const struct setting set = {.policy = "single", .cost = DECODER};
    const struct sim_config good = config_of(&set, &run);
    struct sim_config c[14];
    static const char *const says[] = {
        "policy",     "token budget",       "batch positions", "KV blocks",  "KV blocks",
        "KV blocks",  "room in the system", "prefix store",    "cost model", "cost model",
        "cost model", "cost model",         "cost model",      "cost model"};
    for (int i = 0; i < 14; i++) c[i] = good;
    c[0].policy = NULL;
    c[1].token_budget = 0;
    c[2].max_running = -1;
    c[3].kv_blocks = 0;
    c[4].kv_blocks = INT32_MAX;
    c[5].kv_blocks = -7;
    c[6].max_in_system = 0;
    c[7].prefix_tokens = -1;
    c[8].cost = (struct cost_model){.kind = COST_PER_REQUEST, .setup_ns = -1};
    c[9].cost = (struct cost_model){.kind = COST_PER_REQUEST, .per_request_ns = INT64_MAX};
    c[10].cost.memory_per_context_ps = -1;
    c[11].cost.compute_per_attended_fs = -1;
    c[12].cost.overhead_ns = INT64_MAX;
    c[13].cost.kind = (enum cost_kind)9;
    for (int i = 0; i < 14; i++) {
        struct err e;
        char text[600];
        ck_assert_msg(sim_create(&c[i], &e) == NULL, "setting %d is taken", i);
        err_format(&e, NULL, text, sizeof text);
        ck_assert_msg(strstr(text, says[i]), "setting %d: %s", i, text);
    }
    struct err e;
    struct sim *s = sim_create(&good, &e);
    ck_assert_msg(s != NULL, "%s", e.text);
    sim_free(s);
}
END_TEST

/* ---- requests ---- */

START_TEST(requests_that_make_no_sense_are_refused_by_number) {
    const struct sim_request good = {
        .id = 8, .arrival_ns = 100, .prompt_tokens = 5, .output_tokens = 3, .max_output_tokens = 4};
    struct sim_request list[12];
    for (int i = 0; i < 12; i++) list[i] = good;
    list[0].arrival_ns = 99; /* before the first one */
    list[1].arrival_ns = -1;
    list[2].prompt_tokens = 0;
    list[3].prompt_tokens = INT32_MAX;
    list[4].output_tokens = 0;
    list[5].max_output_tokens = 2;
    list[6].wanted_tokens = 2;
    list[7].fail_after = -1;
    list[8].service_ns = -1;
    list[9].service_ns = INT64_MAX;
    list[10].prefix = &list[10].prefix_hash;
    list[10].n_prefix = 1; /* and no unit */
    list[11].max_output_tokens = INT32_MAX;
    for (int i = 0; i < 12; i++) {
        struct setting set = {.policy = "single", .cost = DECODER};
        struct sim_request both[] = {good, list[i]};
        both[0].id = 7;
        struct run run = run_list(&set, both, 2);
        ck_assert_msg(run.failed, "request %d is taken", i);
        ck_assert_msg(strstr(run.err.text, "request 8"), "request %d: %s", i, run.err.text);
        run_free(&run);
    }
}
END_TEST

START_TEST(two_arrivals_at_one_instant) {
    struct sim_request same[] = {
        {.id = 0, .arrival_ns = 5, .prompt_tokens = 10, .output_tokens = 2, .max_output_tokens = 2},
        {.id = 1,
         .arrival_ns = 5,
         .prompt_tokens = 10,
         .output_tokens = 2,
         .max_output_tokens = 2}};
    struct setting set = {.policy = "continuous", .cost = DECODER};
    struct run run = run_list(&set, same, 2);
    check_invariants(&run, 2, 0);
    ck_assert_int_eq(run.outcomes[0].completion_ns, run.outcomes[1].completion_ns);
    run_free(&run);
}
END_TEST

START_TEST(an_unknown_policy_is_refused_with_a_suggestion) {
    struct err e;
    const char *arg;
    ck_assert_ptr_null(policy_find("continous", &arg, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "did you mean 'continuous'"));
    const struct policy_ops *p = policy_find("wait-for-n:0", &arg, &e);
    ck_assert_ptr_null(p->create(arg, &e));
    p = policy_find("single:3", &arg, &e);
    ck_assert_ptr_null(p->create(arg, &e));
}
END_TEST

/* ---- policies at fault ---- */

static int waits_for_ever(void *state, const struct policy_view *v, struct policy_plan *plan,
                          struct err *e) {
    (void)state;
    (void)v;
    (void)plan;
    (void)e;
    return 0;
}

static int begins_and_stops(void *state, const struct policy_view *v, struct policy_plan *plan,
                            struct err *e) {
    (void)state;
    (void)e;
    if (v->n_waiting > 0)
        plan->actions[plan->n_actions++] =
            (struct policy_action){.verb = POLICY_RUN, .id = v->waiting[0].id, .tokens = 1};
    plan->validity = POLICY_ONE_ITERATION;
    return 0;
}

static int asks_at_once(void *state, const struct policy_view *v, struct policy_plan *plan,
                        struct err *e) {
    (void)state;
    (void)e;
    plan->valid_until_ns = v->now_ns;
    return 0;
}

static int runs_unknown_request(void *state, const struct policy_view *v, struct policy_plan *plan,
                                struct err *e) {
    (void)state;
    (void)v;
    (void)e;
    plan->actions[plan->n_actions++] = (struct policy_action){POLICY_RUN, 4711, 1, NULL};
    return 0;
}

static int asks_every_ns(void *state, const struct policy_view *v, struct policy_plan *plan,
                         struct err *e) {
    (void)state;
    (void)e;
    plan->valid_until_ns = v->now_ns + 1;
    return 0;
}

/* One token of a prompt of two, and away with it. */
static int preempts_what_it_began(void *state, const struct policy_view *v,
                                  struct policy_plan *plan, struct err *e) {
    (void)state;
    (void)e;
    bool runs = v->n_running > 0;
    plan->actions[plan->n_actions++] =
        (struct policy_action){runs ? POLICY_PREEMPT : POLICY_RUN,
                               runs ? v->running[0].id : v->waiting[0].id, runs ? 0 : 1, NULL};
    return 0;
}

START_TEST(a_policy_that_stops_or_lies_is_told_so) {
    static const struct {
        const char *says;
        int (*plan)(void *, const struct policy_view *, struct policy_plan *, struct err *);
    } cases[] = {
        {"requests unfinished although no arrival is left: 1 waiting, 0 admitted", waits_for_ever},
        {"requests unfinished although no arrival is left: 0 waiting, 1 admitted",
         begins_and_stops},
        {"asked again at once", asks_at_once},
        {"request 4711", runs_unknown_request},
        {"makes no progress", asks_every_ns},
        {"makes no progress", preempts_what_it_began}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run = {.outcomes = malloc(sizeof *run.outcomes), .cap = 1};
        const struct policy_ops ops = {.name = "faulty", .plan = cases[i].plan};
        struct setting set = {.policy = "single", .cost = DECODER};
        struct sim_config c = config_of(&set, &run);
        struct err e = {0};
        c.policy = &ops;
        struct sim *s = sim_create(&c, &e);
        struct sim_request r = {
            .id = 1, .prompt_tokens = 2, .output_tokens = 1, .max_output_tokens = 1};
        ck_assert_int_eq(sim_push(s, &r, &e), 0);
        ck_assert_int_eq(sim_finish(s, &e), -1);
        ck_assert_msg(strstr(e.text, cases[i].says), "%s", e.text);
        sim_free(s);
        run_free(&run);
    }
}
END_TEST

/* ---- odd policies ---- */

static int32_t left_of(const struct policy_request *r) {
    return r->prompt_tokens + r->generated_tokens - r->computed_tokens;
}

/* Up to 16 tokens of everyone, if a block is free for them: those that run, then those that wait;
 * backwards through each list when *(bool *)state says so. */
static int sixteen_each(void *state, const struct policy_view *v, struct policy_plan *plan,
                        struct err *e) {
    (void)e;
    bool backwards = *(const bool *)state;
    int32_t blocks = v->free_kv_blocks;
    plan->validity = POLICY_UNTIL_CHANGE;
    for (size_t i = 0; i < v->n_running + v->n_waiting; i++) {
        bool runs = i < v->n_running;
        size_t at = runs ? i : i - v->n_running, n = runs ? v->n_running : v->n_waiting;
        if (backwards && runs) at = n - 1 - at;
        const struct policy_request *r = runs ? &v->running[at] : &v->waiting[at];
        int32_t tokens = left_of(r) < 16 ? left_of(r) : 16;
        int32_t need = policy_blocks_for(r->computed_tokens + tokens) - r->kv_blocks;
        if (need > blocks) continue;
        blocks -= need;
        plan->actions[plan->n_actions++] = (struct policy_action){POLICY_RUN, r->id, tokens, NULL};
    }
    return 0;
}

static struct run run_sixteen(bool backwards, const struct setting *set,
                              const struct sim_request *list, size_t n) {
    static const struct policy_ops ops = {.name = "sixteen-each", .plan = sixteen_each};
    struct run run = {.outcomes = malloc(n * sizeof *run.outcomes), .cap = n};
    struct sim_config c = config_of(set, &run);
    c.policy = &ops;
    c.policy_state = &backwards;
    struct sim *s = sim_create(&c, &run.err);
    for (size_t i = 0; i < n; i++)
        if (sim_run_until(s, list[i].arrival_ns, &run.err) || sim_push(s, &list[i], &run.err))
            ck_abort_msg("%s", run.err.text);
    if (sim_finish(s, &run.err)) ck_abort_msg("%s", run.err.text);
    run.counters = *sim_counters(s);
    sim_free(s);
    return run;
}

/* Who runs is what counts, and not in which order a plan says so. */
START_TEST(a_plan_in_any_order_gives_the_same_run) {
    enum { N = 100 };
    struct sim_request list[N];
    random_load(list, N, 21, 500);
    for (int i = 0; i < N; i++) list[i].arrival_ns /= 4;
    struct setting set = {.policy = "single", .cost = DECODER};
    struct run forwards = run_sixteen(false, &set, list, N);
    struct run backwards = run_sixteen(true, &set, list, N);
    check_invariants(&forwards, N, 0);
    check_invariants(&backwards, N, 0);
    ck_assert_int_gt(forwards.counters.batch_time, 4 * forwards.counters.busy_ns);
    for (size_t i = 0; i < N; i++)
        ck_assert(same_outcome(&forwards.outcomes[i], &backwards.outcomes[i]));
    run_free(&forwards);
    run_free(&backwards);
}
END_TEST

/* A policy doesn't know of prefix reuse. It plans one block for the second request; more than the
 * three that are free can't be found for it, and so only 32 of its 96 tokens are. */
START_TEST(a_hit_goes_no_further_than_the_free_blocks) {
    static const uint64_t prefix[] = {1, 2, 3, 4, 5, 6};
    struct sim_request list[2];
    for (int i = 0; i < 2; i++)
        list[i] = (struct sim_request){.id = i,
                                       .prompt_tokens = 96,
                                       .output_tokens = 10,
                                       .max_output_tokens = 10,
                                       .prefix = prefix,
                                       .n_prefix = 6,
                                       .prefix_unit = 16};
    list[1].arrival_ns = 65 * NS_PER_MS; /* the first one decodes, and holds seven of ten blocks */
    struct setting set = {.policy = "single",
                          .cost = {.kind = COST_PER_REQUEST, .setup_ns = 10 * NS_PER_MS},
                          .kv_blocks = 10,
                          .prefix_tokens = 1000};
    struct run run = run_sixteen(false, &set, list, 2);
    check_invariants(&run, 2, 10);
    ck_assert_int_eq(outcome_of(&run, 1)->cached_tokens, 32);
    ck_assert_int_eq(run.counters.kv_peak_blocks, 10);
    run_free(&run);
}
END_TEST

struct restless {
    int64_t next_ns; /* the last value of sim_next_ns */
    int64_t asked, early;
};

/* Runs all requests, and asks for another call after 25 ms. */
static int restless_plan(void *state, const struct policy_view *v, struct policy_plan *plan,
                         struct err *e) {
    struct restless *r = state;
    bool forwards = false;
    r->asked++;
    r->early += v->now_ns < r->next_ns;
    sixteen_each(&forwards, v, plan, e);
    plan->valid_until_ns = v->now_ns + 25 * NS_PER_MS;
    return 0;
}

START_TEST(the_policy_is_not_asked_before_sim_next_ns) {
    static const struct policy_ops ops = {.name = "restless", .plan = restless_plan};
    struct run run = {.outcomes = malloc(sizeof *run.outcomes), .cap = 1};
    struct restless state = {0};
    struct setting set = {.policy = "single",
                          .cost = {.kind = COST_PER_REQUEST, .setup_ns = 10 * NS_PER_MS}};
    struct sim_config c = config_of(&set, &run);
    struct err e;
    c.policy = &ops;
    c.policy_state = &state;
    struct sim *s = sim_create(&c, &e);
    struct sim_request r = {
        .id = 1, .prompt_tokens = 16, .output_tokens = 30, .max_output_tokens = 30};
    ck_assert_int_eq(sim_push(s, &r, &e), 0);
    while ((state.next_ns = sim_next_ns(s)) != INT64_MAX)
        ck_assert_int_eq(sim_run_until(s, state.next_ns + 1, &e), 0);
    ck_assert_int_eq(run.n, 1);
    /* for the prefill, then every third of 29 iterations: the one that starts before 25 ms are
     * over ends after 30 */
    ck_assert_int_eq(state.asked, 1 + 10);
    ck_assert_int_eq(state.early, 0);
    sim_free(s);
    run_free(&run);
}
END_TEST

int main(void) {
    Suite *s = suite_create("limits of the simulator");
    TCase *t = tcase_create("limits");
    tcase_add_test(t, settings_that_make_no_sense_are_refused_by_name);
    tcase_add_test(t, requests_that_make_no_sense_are_refused_by_number);
    tcase_add_test(t, two_arrivals_at_one_instant);
    tcase_add_test(t, an_unknown_policy_is_refused_with_a_suggestion);
    tcase_add_test(t, a_policy_that_stops_or_lies_is_told_so);
    tcase_add_test(t, a_plan_in_any_order_gives_the_same_run);
    tcase_add_test(t, a_hit_goes_no_further_than_the_free_blocks);
    tcase_add_test(t, the_policy_is_not_asked_before_sim_next_ns);
    suite_add_tcase(s, t);
    return check_main(s);
}
