/* test_sim_limits.c: what a simulated server refuses: settings, requests, policies that make no
 * sense; and what it must not refuse. */
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
    list[2].prompt_tokens = 0; /* M27 */
    list[3].prompt_tokens = INT32_MAX;
    list[4].output_tokens = 0; /* M27 */
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

START_TEST(M27_two_arrivals_at_one_instant) {
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

static int asks_at_once(void *state, const struct policy_view *v, struct policy_plan *plan,
                        struct err *e) {
    (void)state;
    (void)e;
    plan->valid_until_ns = v->now_ns;
    return 0;
}

static int runs_nobody_knows(void *state, const struct policy_view *v, struct policy_plan *plan,
                             struct err *e) {
    (void)state;
    (void)v;
    (void)e;
    plan->actions[plan->n_actions++] = (struct policy_action){POLICY_RUN, 4711, 1, NULL};
    return 0;
}

START_TEST(a_policy_that_stops_or_lies_is_told_so) {
    static const struct {
        const char *says;
        int (*plan)(void *, const struct policy_view *, struct policy_plan *, struct err *);
    } cases[] = {{"leaves 1 requests waiting", waits_for_ever},
                 {"asked again at once", asks_at_once},
                 {"request 4711", runs_nobody_knows}};
    for (int i = 0; i < 3; i++) {
        struct run run = {.outcomes = malloc(sizeof *run.outcomes), .cap = 1};
        const struct policy_ops ops = {.name = "faulty", .plan = cases[i].plan};
        struct setting set = {.policy = "single", .cost = DECODER};
        struct sim_config c = config_of(&set, &run);
        struct err e = {0};
        c.policy = &ops;
        struct sim *s = sim_create(&c, &e);
        struct sim_request r = {
            .id = 1, .prompt_tokens = 1, .output_tokens = 1, .max_output_tokens = 1};
        ck_assert_int_eq(sim_push(s, &r, &e), 0);
        ck_assert_int_eq(sim_finish(s, &e), -1);
        ck_assert_msg(strstr(e.text, cases[i].says), "%s", e.text);
        sim_free(s);
        run_free(&run);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("limits of the simulator");
    TCase *t = tcase_create("limits");
    tcase_add_test(t, settings_that_make_no_sense_are_refused_by_name);
    tcase_add_test(t, requests_that_make_no_sense_are_refused_by_number);
    tcase_add_test(t, M27_two_arrivals_at_one_instant);
    tcase_add_test(t, an_unknown_policy_is_refused_with_a_suggestion);
    tcase_add_test(t, a_policy_that_stops_or_lies_is_told_so);
    suite_add_tcase(s, t);
    return check_main(s);
}
