/* test_learner_policy.c: the reference of lab 02's policy.c in the simulator: what it promises of
 * every run, what it decides in views made by hand, and by how much it beats the group policies.
 *
 * The machine is a 7B model on an A100 as published figures have it (weights of 13.5 GB read in 9
 * ms, 65 us of arithmetic a token), so that the margins below mean something.
 */
#include "base/clock.h"
#include "base/rng.h"
#include "objective/point.h"
#include "sched/policies.h"
#include "sim/sim.h"
#include "testing/check_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cost_model a100 = {.kind = COST_TRANSFORMER,
                                       .memory_fixed_ps = 9000000000,
                                       .memory_per_context_ps = 330000,
                                       .compute_per_token_ps = 65000000,
                                       .compute_per_attended_fs = 2100000,
                                       .overhead_ns = 500000};

struct machine {
    int32_t kv_blocks, token_budget, max_running;
};
static const struct machine usual = {6900, 2048, 64};

struct load {
    uint64_t seed;
    int32_t requests;
    double rate_rps;
    int32_t prompt_lo, prompt_hi, output_lo, output_hi;
    int32_t allowed; /* max_output_tokens is so many times what it will generate */
};

struct run {
    struct point_request *list;
    size_t n;
    struct sim_counters counters;
    int64_t last_arrival_ns, worst_overtaken;
    bool failed;
    struct err err;
};

static void collect(void *ctx, const struct sim_outcome *o) {
    struct run *run = ctx;
    bool done = o->end == SIM_COMPLETED;
    run->list[run->n++] = (struct point_request){o->request.arrival_ns,
                                                 o->start_ns,
                                                 o->first_token_ns,
                                                 o->completion_ns,
                                                 done ? o->request.output_tokens : 0,
                                                 o->request.output_tokens,
                                                 done ? POINT_DONE : POINT_REJECTED};
}

static int32_t between(struct rng *r, int32_t lo, int32_t hi) {
    return lo + (int32_t)rng_below(r, (uint64_t)(hi - lo + 1));
}

static struct run simulate(const char *name, const struct machine *m, const struct load *l,
                           bool ask_always) {
    struct run run = {.list = malloc(((size_t)l->requests + 1) * sizeof *run.list)};
    const char *arg;
    const struct policy_ops *policy = policy_find(name, &arg, &run.err);
    ck_assert_msg(policy != NULL, "%s", run.err.text);
    struct sim_config c = {.policy = policy,
                           .policy_state = policy->create(arg, &run.err),
                           .cost = a100,
                           .kv_blocks = m->kv_blocks,
                           .token_budget = m->token_budget,
                           .max_running = m->max_running,
                           .max_in_system = INT64_MAX,
                           .ask_always = ask_always,
                           .each = collect,
                           .ctx = &run};
    ck_assert_msg(c.policy_state != NULL, "%s", run.err.text);
    struct sim *s = sim_create(&c, &run.err);
    struct rng r;
    rng_seed(&r, l->seed);
    for (int i = 0; i < l->requests && !run.failed; i++) {
        run.last_arrival_ns += rng_exponential_ns(&r, (int64_t)(1e9 / l->rate_rps));
        struct sim_request q = {.id = i,
                                .arrival_ns = run.last_arrival_ns,
                                .prompt_tokens = between(&r, l->prompt_lo, l->prompt_hi),
                                .output_tokens = between(&r, l->output_lo, l->output_hi)};
        q.max_output_tokens = q.output_tokens * l->allowed;
        run.failed = sim_run_until(s, q.arrival_ns, &run.err) || sim_push(s, &q, &run.err);
    }
    run.failed = run.failed || sim_finish(s, &run.err);
    ck_assert_msg(!run.failed, "%s: %s", name, run.err.text);
    ck_assert_uint_eq(run.n, (size_t)l->requests); /* every request ended */
    run.counters = *sim_counters(s);
    ck_assert_int_le(run.counters.kv_peak_blocks, m->kv_blocks);
    sim_free(s);
    policy->destroy(c.policy_state);
    return run;
}

/* ---- goodput ---- */

static double good_rps(const char *name, const struct load *l) {
    struct run run = simulate(name, &usual, l, false);
    struct point_limits limits = {2000 * NS_PER_MS, 100 * NS_PER_MS, INT64_MAX};
    struct operating_point p;
    ck_assert_int_eq(point_measure(run.list, run.n, run.last_arrival_ns / 10, run.last_arrival_ns,
                                   &limits, &p, &run.err),
                     0);
    free(run.list);
    return p.good_rps;
}

static const struct load chat = {0, 800, 0, 100, 1500, 10, 300, 2};
static const struct load documents = {0, 800, 0, 1000, 4000, 10, 200, 1};

/* Beyond these loads the group policies are overloaded and have no goodput at all; here they still
 * have some. */
START_TEST(better_than_groups) {
    const struct {
        const struct load *of;
        double rate_rps;
    } loads[] = {{&chat, 1.0}, {&chat, 2.0}, {&chat, 4.0}, {&documents, 0.5}, {&documents, 1.0}};
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct load l = *loads[i].of;
            l.seed = seed, l.rate_rps = loads[i].rate_rps;
            double ours = good_rps("learner", &l), fixed = good_rps("static:8", &l),
                   groups = good_rps("wait-for-n:8", &l);
            printf("# load %.1f seed %llu: learner %.3f static:8 %.3f wait-for-n:8 %.3f good/s\n",
                   l.rate_rps, (unsigned long long)seed, ours, fixed, groups);
            ck_assert_double_gt(ours, 1.15 * fixed);
            ck_assert_double_gt(ours, 1.5 * groups);
        }
}
END_TEST

START_TEST(at_least_as_good_as_continuous_batching_without_a_look_at_the_cache) {
    double ours = 0, others = 0;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct load l = chat;
        l.seed = seed, l.rate_rps = 8.5; /* prefill first stalls those that decode */
        ck_assert_double_gt(good_rps("learner", &l), 2 * good_rps("continuous", &l));
        ck_assert_double_ge(good_rps("learner", &l), good_rps("chunked", &l));
        l = documents;
        l.seed = seed, l.rate_rps = 3.5; /* a whole budget of prefill passes the TPOT limit */
        ours += good_rps("learner", &l);
        others += good_rps("chunked", &l);
    }
    printf("# documents: learner %.2f chunked %.2f good/s\n", ours / 3, others / 3);
    ck_assert_double_gt(ours, 1.2 * others);
}
END_TEST

START_TEST(groups_of_the_learner_beat_waiting_for_a_number) {
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct load l = chat;
        l.seed = seed, l.rate_rps = 1;
        ck_assert_double_gt(good_rps("learner-batch:8", &l), 1.2 * good_rps("wait-for-n:8", &l));
    }
}
END_TEST

/* ---- what every run keeps to ---- */

static const struct machine machines[] = {{6900, 2048, 64}, {6900, 2048, 1}, {6900, 1, 64},
                                          {6900, 1, 1},     {40, 512, 64},   {40, 7, 3},
                                          {25, 2048, 1000}, {25, 3, 2},      {25, 1, 1}};

START_TEST(works_on_any_machine) {
    static const char *const names[] = {"learner", "learner-batch:1", "learner-batch:5"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
            for (int load = 0; load < 2; load++) {
                /* 25 blocks are 400 tokens: the largest requests need them all */
                struct load l = {i + 1, 60, load ? 1000 : 0.5, 1, 200, 1, 100, 2};
                struct run run = simulate(names[k], &machines[i], &l, false);
                ck_assert_int_eq(run.counters.completed, l.requests);
                if (k > 0) ck_assert_int_eq(run.counters.preemptions, 0);
                free(run.list);
            }
}
END_TEST

/* The oldest always runs: no request may be admitted before an earlier arrival, and under pressure
 * each request is done before those that came long after it. */
START_TEST(first_come_first_admitted) {
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct load l = {i + 1, 60, 1000, 1, 200, 1, 100, 1};
        struct run run = simulate("learner", &machines[i], &l, false);
        for (size_t a = 0; a < run.n; a++)
            for (size_t b = 0; b < run.n; b++)
                if (run.list[a].arrival_ns < run.list[b].arrival_ns)
                    ck_assert_int_le(run.list[a].admitted_ns, run.list[b].admitted_ns);
        free(run.list);
    }
}
END_TEST

START_TEST(jumping_equals_stepping) {
    static const char *const names[] = {"learner", "learner-batch:6"};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
            for (int32_t allowed = 1; allowed <= 2; allowed++) {
                struct load l = {i + 9, 50, 20, 1, 200, 1, 100, allowed};
                struct run a = simulate(names[k], &machines[i], &l, false);
                struct run b = simulate(names[k], &machines[i], &l, true);
                for (size_t j = 0; j < a.n; j++) {
                    ck_assert_int_eq(a.list[j].admitted_ns, b.list[j].admitted_ns);
                    ck_assert_int_eq(a.list[j].first_token_ns, b.list[j].first_token_ns);
                    ck_assert_int_eq(a.list[j].end_ns, b.list[j].end_ns);
                }
                ck_assert_int_eq(a.counters.preemptions, b.counters.preemptions);
                free(a.list);
                free(b.list);
            }
}
END_TEST

/* Pressure is real in these runs, and answered with few preemptions. */
START_TEST(a_tight_cache_makes_it_preempt_seldom) {
    struct machine tight = {600, 2048, 64};
    struct load l = {1, 400, 4, 100, 1500, 50, 600, 2};
    struct run ours = simulate("learner", &tight, &l, false);
    struct run blind = simulate("chunked", &tight, &l, false);
    printf("# preemptions: learner %lld chunked %lld\n", (long long)ours.counters.preemptions,
           (long long)blind.counters.preemptions);
    ck_assert_int_gt(ours.counters.preemptions, 0);
    ck_assert_int_lt(3 * ours.counters.preemptions, blind.counters.preemptions);
    free(ours.list);
    free(blind.list);
}
END_TEST

/* ---- views made by hand ---- */

struct decided {
    struct policy_action actions[8];
    struct policy_plan plan;
};

static struct decided decide(const char *name, const struct policy_view *v) {
    struct decided d = {0};
    struct err e;
    const char *arg;
    const struct policy_ops *p = policy_find(name, &arg, &e);
    void *state = p->create(arg, &e);
    d.plan = (struct policy_plan){.actions = d.actions, .cap_actions = 8};
    ck_assert_int_eq(p->plan(state, v, &d.plan, &e), 0);
    ck_assert_msg(!policy_check(v, &d.plan, &e), "%s", e.text);
    p->destroy(state);
    return d;
}

static void expect(const struct decided *d, size_t i, enum policy_verb verb, int64_t id,
                   int32_t tokens) {
    ck_assert_uint_lt(i, d->plan.n_actions);
    ck_assert_int_eq(d->actions[i].verb, verb);
    ck_assert_int_eq(d->actions[i].id, id);
    ck_assert_int_eq(d->actions[i].tokens, tokens);
}

START_TEST(a_long_prefill_shares_the_iteration) {
    struct policy_request running = {.id = 1,
                                     .prompt_tokens = 20,
                                     .max_output_tokens = 100,
                                     .computed_tokens = 24,
                                     .generated_tokens = 5,
                                     .kv_blocks = 2};
    struct policy_request waiting = {.id = 2, .prompt_tokens = 2048, .max_output_tokens = 100};
    struct policy_view v = {.waiting = &waiting,
                            .n_waiting = 1,
                            .running = &running,
                            .n_running = 1,
                            .free_kv_blocks = 998,
                            .total_kv_blocks = 1000,
                            .token_budget = 2048,
                            .max_running = 4};
    struct decided d = decide("learner", &v);
    ck_assert_uint_eq(d.plan.n_actions, 2);
    expect(&d, 0, POLICY_RUN, 1, 1);
    expect(&d, 1, POLICY_RUN, 2, 512);
    v.n_running = 0, v.free_kv_blocks = 1000; /* no decode waits for it: all at once */
    d = decide("learner", &v);
    expect(&d, 0, POLICY_RUN, 2, 2048);
}
END_TEST

START_TEST(the_last_admitted_gives_way) {
    struct policy_request running[3];
    for (int i = 0; i < 3; i++)
        running[i] = (struct policy_request){.id = 10 + i,
                                             .prompt_tokens = 16,
                                             .max_output_tokens = 64,
                                             .computed_tokens = 32,
                                             .generated_tokens = 17,
                                             .kv_blocks = 2};
    struct policy_request waiting = {.id = 20, .prompt_tokens = 1, .max_output_tokens = 1};
    struct policy_view v = {.waiting = &waiting,
                            .n_waiting = 1,
                            .running = running,
                            .n_running = 3,
                            .free_kv_blocks = 1,
                            .total_kv_blocks = 7,
                            .token_budget = 64,
                            .max_running = 8};
    struct decided d = decide("learner", &v);
    ck_assert_uint_eq(d.plan.n_actions,
                      3); /* and no request is admitted into the blocks just freed */
    expect(&d, 0, POLICY_PREEMPT, 12, 0);
    expect(&d, 1, POLICY_RUN, 10, 1);
    expect(&d, 2, POLICY_RUN, 11, 1);
    running[0].prompt_tokens = 80, running[0].generated_tokens = 0; /* the oldest is in prefill */
    running[0].max_output_tokens = 8;
    v.free_kv_blocks = 0, v.total_kv_blocks = 6;
    running[1].computed_tokens = running[2].computed_tokens = 30;
    running[1].generated_tokens = running[2].generated_tokens = 15;
    d = decide("learner", &v);
    expect(&d, 0, POLICY_PREEMPT, 12, 0);
    expect(&d, 1, POLICY_RUN, 11, 1);
    expect(&d, 2, POLICY_RUN, 10, 32);
}
END_TEST

START_TEST(blocks_are_shared_out_once) {
    struct policy_request running[2];
    for (int i = 0; i < 2; i++)
        running[i] = (struct policy_request){.id = i,
                                             .prompt_tokens = 64,
                                             .max_output_tokens = 8,
                                             .computed_tokens = 16,
                                             .kv_blocks = 1};
    struct policy_view v = {.running = running,
                            .n_running = 2,
                            .free_kv_blocks = 3,
                            .total_kv_blocks = 6,
                            .token_budget = 256,
                            .max_running = 8};
    struct decided d = decide("learner", &v);
    ck_assert_uint_eq(d.plan.n_actions, 1); /* the first takes all three */
    expect(&d, 0, POLICY_RUN, 0, 48);
    running[0] = (struct policy_request){.id = 0,
                                         .prompt_tokens = 20,
                                         .max_output_tokens = 80,
                                         .computed_tokens = 32,
                                         .generated_tokens = 13,
                                         .kv_blocks = 2};
    d = decide("learner", &v);
    ck_assert_uint_eq(d.plan.n_actions, 2);
    expect(&d, 0, POLICY_RUN, 0, 1);
    expect(&d, 1, POLICY_RUN, 1, 32); /* two are left */
}
END_TEST

START_TEST(what_can_never_run_is_refused_at_once) {
    struct policy_request waiting[] = {{.id = 1, .prompt_tokens = 120, .max_output_tokens = 9},
                                       {.id = 2, .prompt_tokens = 0, .max_output_tokens = 9},
                                       {.id = 3, .prompt_tokens = 120, .max_output_tokens = 8}};
    struct policy_request running = {.id = 9,
                                     .prompt_tokens = 4,
                                     .max_output_tokens = 4,
                                     .computed_tokens = 4,
                                     .generated_tokens = 1,
                                     .kv_blocks = 1};
    static const char *const names[] = {"learner", "learner-batch:4"};
    for (int busy = 0; busy < 2; busy++)
        for (int k = 0; k < 2; k++) {
            struct policy_view v = {.waiting = waiting,
                                    .n_waiting = 3,
                                    .running = &running,
                                    .n_running = (size_t)busy,
                                    .free_kv_blocks = 8 - busy,
                                    .total_kv_blocks = 8,
                                    .token_budget = 200,
                                    .max_running = 4,
                                    .arrivals_ended = true};
            struct decided d = decide(names[k], &v);
            expect(&d, 0, POLICY_REJECT, 1, 0);
            expect(&d, 1, POLICY_REJECT, 2, 0);
            ck_assert_ptr_nonnull(strstr(d.actions[0].reason, "whole cache"));
            ck_assert_ptr_nonnull(strstr(d.actions[1].reason, "empty"));
            if (busy) expect(&d, 2, POLICY_RUN, 9, 1);
            v.waiting = &waiting[2], v.n_waiting = 1; /* which just fits */
            d = decide(names[k], &v);
            if (!busy) expect(&d, 0, POLICY_RUN, 3, 120);
            ck_assert_uint_eq(d.plan.n_actions, 1);
        }
}
END_TEST

START_TEST(a_group_waits_a_stated_time) {
    struct policy_request waiting[4];
    for (int i = 0; i < 4; i++)
        waiting[i] = (struct policy_request){.id = i,
                                             .arrival_ns = 5 * NS_PER_MS + i,
                                             .prompt_tokens = 10 + i,
                                             .max_output_tokens = 5};
    struct policy_view v = {.now_ns = 6 * NS_PER_MS,
                            .waiting = waiting,
                            .n_waiting = 3,
                            .free_kv_blocks = 100,
                            .total_kv_blocks = 100,
                            .token_budget = 30,
                            .max_running = 8};
    struct decided d = decide("learner-batch:4", &v);
    ck_assert_uint_eq(d.plan.n_actions, 0);
    ck_assert_int_eq(d.plan.valid_until_ns, 15 * NS_PER_MS);
    v.now_ns = 15 * NS_PER_MS; /* long enough */
    ck_assert_uint_eq(decide("learner-batch:4", &v).plan.n_actions, 3);
    v.now_ns = 6 * NS_PER_MS;
    ck_assert_uint_eq(decide("learner-batch:3", &v).plan.n_actions, 3); /* enough are there */
    v.arrivals_ended = true;                                            /* no request will join */
    ck_assert_uint_eq(decide("learner-batch:4", &v).plan.n_actions, 3);
    v.arrivals_ended = false, v.n_waiting = 4;
    d = decide("learner-batch:4", &v); /* the budget is shared, so that all of them go */
    for (int i = 0; i < 4; i++) ck_assert_int_ge(d.actions[i].tokens, 7);
    v.free_kv_blocks = v.total_kv_blocks = 2; /* two fit: a third would be preempted */
    ck_assert_uint_eq(decide("learner-batch:4", &v).plan.n_actions, 2);
}
END_TEST

START_TEST(names_and_arguments) {
    static const char *const bad[] = {"learner:1",         "learner-batch",
                                      "learner-batch:0",   "learner-batch:-1",
                                      "learner-batch:4x",  "learner-batch:x",
                                      "learner-batch:2e9", "learner-batch:99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};
        const char *arg;
        const struct policy_ops *p = policy_find(bad[i], &arg, &e);
        ck_assert_ptr_nonnull(p);
        ck_assert_msg(p->create(arg, &e) == NULL, "%s", bad[i]);
        ck_assert_str_eq(e.field, "--policy");
    }
    struct err e = {0};
    const char *arg;
    ck_assert_ptr_null(policy_find("learner-bacth:4", &arg, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "did you mean 'learner-batch'"));
    ck_assert_str_eq(policy_learner()->name, "learner");
    ck_assert_str_eq(policy_learner_batch()->name, "learner-batch");
}
END_TEST

int main(void) {
    Suite *s = suite_create("learner_policy");
    TCase *c = tcase_create("learner_policy");
    suite_add_tcase(s, c);
    tcase_add_test(c, better_than_groups);
    tcase_add_test(c, at_least_as_good_as_continuous_batching_without_a_look_at_the_cache);
    tcase_add_test(c, groups_of_the_learner_beat_waiting_for_a_number);
    tcase_add_test(c, works_on_any_machine);
    tcase_add_test(c, first_come_first_admitted);
    tcase_add_test(c, jumping_equals_stepping);
    tcase_add_test(c, a_tight_cache_makes_it_preempt_seldom);
    tcase_add_test(c, a_long_prefill_shares_the_iteration);
    tcase_add_test(c, the_last_admitted_gives_way);
    tcase_add_test(c, blocks_are_shared_out_once);
    tcase_add_test(c, what_can_never_run_is_refused_at_once);
    tcase_add_test(c, a_group_waits_a_stated_time);
    tcase_add_test(c, names_and_arguments);
    return check_main(s);
}
