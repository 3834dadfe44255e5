/* test_sim.c: the simulator against cases worked by hand, against brute force, and against the
 * closed forms of queueing theory.
 *
 * Confidence intervals are by batch means: the run is cut into BATCHES parts of equal length after
 * a tenth is thrown away, and the parts' means are taken as independent (Law, Simulation Modeling
 * and Analysis, section 9.5). A formula holds when it lies within the 99.9 % interval; the 95 %
 * half-width must be at most 1 % of the value, so that the test has teeth.
 */
#include "base/clock.h"
#include "base/rng.h"
#include "sched/policies.h"
#include "sim/sim.h"
#include "testing/check_main.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 30 };
static const int32_t PLENTY = 1 << 28;

/* ---- running a list of requests ---- */

struct run {
    struct sim_outcome *outcomes; /* in order of completion */
    size_t n;
    struct sim_counters counters;
    struct err err;
    bool failed;
};

struct setting {
    const char *policy;
    struct cost_model cost;
    int32_t kv_blocks, token_budget, max_running;
    int64_t max_in_system;
    bool ask_always;
};

static void collect(void *ctx, const struct sim_outcome *o) {
    struct run *run = ctx;
    run->outcomes[run->n++] = *o;
}

static struct run run_list(const struct setting *set, const struct sim_request *list, size_t n) {
    struct run run = {.outcomes = malloc((n + 1) * sizeof *run.outcomes)};
    const char *arg;
    const struct policy_ops *policy = policy_find(set->policy, &arg, &run.err);
    ck_assert_msg(policy != NULL, "%s", run.err.text);
    struct sim_config c = {.policy = policy,
                           .policy_state = policy->create(arg, &run.err),
                           .cost = set->cost,
                           .kv_blocks = set->kv_blocks ? set->kv_blocks : PLENTY,
                           .token_budget = set->token_budget ? set->token_budget : PLENTY,
                           .max_running = set->max_running ? set->max_running : 1 << 20,
                           .max_in_system = set->max_in_system ? set->max_in_system : INT64_MAX,
                           .ask_always = set->ask_always,
                           .each = collect,
                           .ctx = &run};
    struct sim *s = sim_create(&c, &run.err);
    for (size_t i = 0; i < n && !run.failed; i++)
        run.failed =
            sim_run_until(s, list[i].arrival_ns, &run.err) || sim_push(s, &list[i], &run.err);
    run.failed = run.failed || sim_finish(s, &run.err);
    run.counters = *sim_counters(s);
    sim_free(s);
    policy->destroy(c.policy_state);
    return run;
}

static const struct sim_outcome *outcome_of(const struct run *run, int64_t id) {
    for (size_t i = 0; i < run->n; i++)
        if (run->outcomes[i].request.id == id) return &run->outcomes[i];
    ck_abort_msg("request %lld has no outcome", (long long)id);
}

/* What must hold of every run. */
static void check_invariants(const struct run *run, size_t n) {
    ck_assert_msg(!run->failed, "%s", run->err.text);
    ck_assert_uint_eq(run->n, n);
    ck_assert_int_eq(run->counters.completed + run->counters.rejected, (int64_t)n);
    ck_assert(run->counters.in_system_time ==
              run->counters.latency_sum); /* Little's law, exactly */
    int64_t outputs = 0;
    for (size_t i = 0; i < n; i++) {
        const struct sim_outcome *o = &run->outcomes[i];
        if (o->end != SIM_COMPLETED) continue;
        ck_assert_int_ge(o->start_ns, o->request.arrival_ns);
        ck_assert_int_ge(o->first_token_ns, o->start_ns);
        ck_assert_int_ge(o->completion_ns, o->first_token_ns);
        outputs += o->request.output_tokens;
    }
    ck_assert_int_eq(outputs, run->counters.output_tokens);
}

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
    check_invariants(&run, 4);
    return run;
}

static void expect_completions(const char *policy, int64_t setup_ms, const int64_t *ms) {
    struct run run = four(policy, setup_ms);
    for (int64_t i = 0; i < 4; i++)
        ck_assert_int_eq(outcome_of(&run, i)->completion_ns, ms[i] * NS_PER_MS);
    free(run.outcomes);
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
        check_invariants(&run, (size_t)n);
        for (int i = 0; i < n; i++)
            ck_assert_msg(outcome_of(&run, i)->completion_ns == done[i],
                          "trial %d request %d: got %lld want %lld", trial, i,
                          (long long)outcome_of(&run, i)->completion_ns, (long long)done[i]);
        free(run.outcomes);
    }
}
END_TEST

/* ---- closed forms ---- */

enum service { EXPONENTIAL, CONSTANT, ERLANG_2 };

struct theory {
    enum service service;
    double load; /* arrival rate times mean service time */
    int64_t max_in_system;
    int n;       /* requests */
    double bias; /* the deliberately wrong engine: service times are multiplied by it */
};

struct batch_means {
    double sum[BATCHES];
    int64_t count[BATCHES], seen, skip, length;
    int64_t lost;
};

static void into_batches(void *ctx, const struct sim_outcome *o) {
    struct batch_means *b = ctx;
    int64_t at = b->seen++ - b->skip;
    if (at < 0) return;
    if (o->end != SIM_COMPLETED) {
        b->lost++;
        return;
    }
    int k = (int)(at / b->length);
    if (k >= BATCHES) k = BATCHES - 1;
    b->sum[k] += (double)(o->completion_ns - o->request.arrival_ns);
    b->count[k]++;
}

static const int64_t MEAN_NS = NS_PER_MS;

static int64_t draw_service(struct rng *r, const struct theory *t) {
    int64_t ns = MEAN_NS;
    if (t->service == EXPONENTIAL) ns = rng_exponential_ns(r, MEAN_NS);
    if (t->service == ERLANG_2)
        ns = rng_exponential_ns(r, MEAN_NS / 2) + rng_exponential_ns(r, MEAN_NS / 2);
    return (int64_t)((double)ns * t->bias);
}

static struct batch_means simulate(const struct theory *t) {
    struct batch_means b = {.skip = t->n / 10, .length = (t->n - t->n / 10) / BATCHES};
    struct err e;
    const char *arg;
    const struct policy_ops *policy = policy_find("single", &arg, &e);
    struct sim_config c = {.policy = policy,
                           .policy_state = policy->create(arg, &e),
                           .cost = {.kind = COST_SERVICE},
                           .kv_blocks = PLENTY,
                           .token_budget = PLENTY,
                           .max_running = 1,
                           .max_in_system = t->max_in_system ? t->max_in_system : INT64_MAX,
                           .each = into_batches,
                           .ctx = &b};
    struct sim *s = sim_create(&c, &e);
    struct rng arrivals, services;
    rng_seed(&arrivals, 101);
    rng_seed(&services, 202);
    int64_t at = 0;
    for (int i = 0; i < t->n; i++) {
        at += rng_exponential_ns(&arrivals, (int64_t)((double)MEAN_NS / t->load));
        struct sim_request r = {.id = i,
                                .arrival_ns = at,
                                .prompt_tokens = 1,
                                .output_tokens = 1,
                                .max_output_tokens = 1,
                                .service_ns = draw_service(&services, t)};
        ck_assert_int_eq(sim_run_until(s, at, &e) || sim_push(s, &r, &e), 0);
    }
    ck_assert_int_eq(sim_finish(s, &e), 0);
    ck_assert(sim_counters(s)->in_system_time == sim_counters(s)->latency_sum);
    sim_free(s);
    policy->destroy(c.policy_state);
    return b;
}

/* Does the formula hold? Fails the test when the interval is too wide to tell. */
static bool agrees(const struct batch_means *b, double want_ns) {
    double mean = 0, squares = 0;
    for (int k = 0; k < BATCHES; k++) mean += b->sum[k] / (double)b->count[k] / BATCHES;
    for (int k = 0; k < BATCHES; k++) squares += pow(b->sum[k] / (double)b->count[k] - mean, 2);
    double error = sqrt(squares / (BATCHES - 1) / BATCHES);
    ck_assert_msg(2.045 * error <= 0.01 * mean, "95 %% half-width is %.2f %%",
                  204.5 * error / mean);          /* t(29) */
    return fabs(mean - want_ns) <= 3.659 * error; /* t(29), 99.9 % */
}

/* Pollaczek-Khinchine; c2 is the squared coefficient of variation of the service time. */
static double sojourn_mg1(double load, double c2) {
    return (double)MEAN_NS * (1 + load * (1 + c2) / (2 * (1 - load)));
}

START_TEST(M_M_1_sojourn_time) {
    struct batch_means b = simulate(&(struct theory){EXPONENTIAL, 0.7, 0, 3000000, 1});
    ck_assert(agrees(&b, (double)MEAN_NS / (1 - 0.7)));
}
END_TEST

START_TEST(M_D_1_sojourn_time) {
    struct batch_means b = simulate(&(struct theory){CONSTANT, 0.7, 0, 2000000, 1});
    ck_assert(agrees(&b, sojourn_mg1(0.7, 0)));
}
END_TEST

START_TEST(M_G_1_sojourn_time) {
    struct batch_means b = simulate(&(struct theory){ERLANG_2, 0.7, 0, 3000000, 1});
    ck_assert(agrees(&b, sojourn_mg1(0.7, 0.5)));
}
END_TEST

START_TEST(M_M_1_K_loss_probability) {
    int n = 2000000;
    struct batch_means b = simulate(&(struct theory){EXPONENTIAL, 0.9, 5, n, 1});
    double rho = 0.9, loss = (1 - rho) * pow(rho, 5) / (1 - pow(rho, 6));
    double got = (double)b.lost / (double)(b.seen - b.skip);
    ck_assert_msg(fabs(got - loss) < 0.01 * loss, "lost %.5f, theory %.5f", got, loss);
}
END_TEST

START_TEST(a_biased_engine_fails_the_formulas) {
    struct batch_means b = simulate(&(struct theory){EXPONENTIAL, 0.7, 0, 3000000, 1.02});
    ck_assert(!agrees(&b, (double)MEAN_NS / (1 - 0.7)));
    b = simulate(&(struct theory){CONSTANT, 0.7, 0, 2000000, 0.98});
    ck_assert(!agrees(&b, sojourn_mg1(0.7, 0)));
}
END_TEST

/* ---- iteration level ---- */

static const struct cost_model DECODER = {.kind = COST_TRANSFORMER,
                                          .memory_fixed_ps = INT64_C(6700) * 1000 * 1000,
                                          .memory_per_context_ps = 260 * 1000,
                                          .compute_per_token_ps = INT64_C(65) * 1000 * 1000,
                                          .compute_per_attended_fs = 2000,
                                          .overhead_ns = 400 * 1000};

static size_t random_load(struct sim_request *list, size_t n, uint64_t seed) {
    struct rng r;
    rng_seed(&r, seed);
    int64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        at += rng_exponential_ns(&r, 150 * NS_PER_MS);
        int32_t out = 1 + (int32_t)rng_below(&r, 200);
        list[i] = (struct sim_request){.id = (int64_t)i,
                                       .arrival_ns = at,
                                       .prompt_tokens = 1 + (int32_t)rng_below(&r, 3000),
                                       .output_tokens = out,
                                       .max_output_tokens = out + (int32_t)rng_below(&r, 100)};
    }
    return n;
}

static const char *const BATCHING[] = {
    "single",     "static:4", "wait-for-n:3",  "wait-for-time:200,4",
    "continuous", "chunked",  "shortest-first"};

static bool same_outcome(const struct sim_outcome *a, const struct sim_outcome *b) {
    return a->request.id == b->request.id && a->end == b->end && a->start_ns == b->start_ns &&
           a->first_token_ns == b->first_token_ns && a->completion_ns == b->completion_ns &&
           a->preemptions == b->preemptions;
}

START_TEST(jumping_over_unchanged_iterations_changes_nothing) {
    struct sim_request list[150];
    for (size_t p = 0; p < sizeof BATCHING / sizeof *BATCHING; p++)
        for (uint64_t seed = 1; seed <= 6; seed++) {
            size_t n = random_load(list, 150, seed);
            struct setting set = {.policy = BATCHING[p],
                                  .cost = DECODER,
                                  .kv_blocks = 600,
                                  .token_budget = 2048,
                                  .max_running = 16};
            struct run jump = run_list(&set, list, n);
            set.ask_always = true;
            struct run step = run_list(&set, list, n);
            check_invariants(&jump, n);
            check_invariants(&step, n);
            for (size_t i = 0; i < n; i++)
                ck_assert_msg(same_outcome(&jump.outcomes[i], &step.outcomes[i]),
                              "%s seed %d outcome %zu", BATCHING[p], (int)seed, i);
            ck_assert_int_eq(jump.counters.iterations, step.counters.iterations);
            ck_assert_int_eq(jump.counters.busy_ns, step.counters.busy_ns);
            ck_assert_int_eq(jump.counters.kv_time, step.counters.kv_time);
            free(jump.outcomes);
            free(step.outcomes);
        }
}
END_TEST

START_TEST(tight_memory_preempts_and_still_ends) { /* M25, M26 */
    struct sim_request list[150];
    int64_t preempted = 0;
    for (size_t p = 0; p < sizeof BATCHING / sizeof *BATCHING; p++) {
        size_t n = random_load(list, 150, 9);
        struct setting set = {.policy = BATCHING[p],
                              .cost = DECODER,
                              .kv_blocks = 230,
                              .token_budget = 512,
                              .max_running = 32};
        struct run run = run_list(&set, list, n);
        check_invariants(&run, n);
        ck_assert_int_le(run.counters.kv_peak_blocks, 230);
        ck_assert_int_eq(run.counters.rejected, 0);
        preempted += run.counters.preemptions;
        free(run.outcomes);
    }
    ck_assert_int_gt(preempted, 0);
}
END_TEST

START_TEST(M25_a_request_larger_than_the_cache_is_refused_at_once) {
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
    check_invariants(&run, 3);
    const struct sim_outcome *o = outcome_of(&run, 1);
    ck_assert_int_eq(o->end, SIM_REJECTED_TOO_LARGE);
    ck_assert_int_eq(o->completion_ns, 5);
    ck_assert_ptr_nonnull(o->reason);
    free(run.outcomes);
}
END_TEST

START_TEST(renaming_requests_changes_nothing) {
    struct sim_request list[100], renamed[100];
    size_t n = random_load(list, 100, 3);
    for (size_t i = 0; i < n; i++) renamed[i] = list[i], renamed[i].id = 1000 - 7 * (int64_t)i;
    for (size_t p = 0; p < sizeof BATCHING / sizeof *BATCHING; p++) {
        struct setting set = {.policy = BATCHING[p],
                              .cost = DECODER,
                              .kv_blocks = 400,
                              .token_budget = 1024,
                              .max_running = 8};
        struct run a = run_list(&set, list, n), b = run_list(&set, renamed, n);
        for (size_t i = 0; i < n; i++)
            ck_assert_int_eq(a.outcomes[i].completion_ns, b.outcomes[i].completion_ns);
        free(a.outcomes);
        free(b.outcomes);
    }
}
END_TEST

START_TEST(M27_two_arrivals_at_one_instant_and_unsorted_ones) {
    struct sim_request same[] = {
        {.id = 0, .arrival_ns = 5, .prompt_tokens = 10, .output_tokens = 2, .max_output_tokens = 2},
        {.id = 1,
         .arrival_ns = 5,
         .prompt_tokens = 10,
         .output_tokens = 2,
         .max_output_tokens = 2}};
    struct setting set = {.policy = "continuous", .cost = DECODER};
    struct run run = run_list(&set, same, 2);
    check_invariants(&run, 2);
    ck_assert_int_eq(run.outcomes[0].completion_ns, run.outcomes[1].completion_ns);
    free(run.outcomes);
    struct sim_request empty = {
        .id = 0, .arrival_ns = 0, .prompt_tokens = 0, .output_tokens = 1, .max_output_tokens = 1};
    run = run_list(&set, &empty, 1);
    ck_assert(run.failed);
    free(run.outcomes);
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

int main(void) {
    Suite *s = suite_create("simulator");
    TCase *t = tcase_create("sim");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, four_requests_by_hand);
    tcase_add_test(t, random_small_cases_equal_a_clock_that_ticks);
    tcase_add_test(t, M_M_1_sojourn_time);
    tcase_add_test(t, M_D_1_sojourn_time);
    tcase_add_test(t, M_G_1_sojourn_time);
    tcase_add_test(t, M_M_1_K_loss_probability);
    tcase_add_test(t, a_biased_engine_fails_the_formulas);
    tcase_add_test(t, jumping_over_unchanged_iterations_changes_nothing);
    tcase_add_test(t, tight_memory_preempts_and_still_ends);
    tcase_add_test(t, M25_a_request_larger_than_the_cache_is_refused_at_once);
    tcase_add_test(t, renaming_requests_changes_nothing);
    tcase_add_test(t, M27_two_arrivals_at_one_instant_and_unsorted_ones);
    tcase_add_test(t, an_unknown_policy_is_refused_with_a_suggestion);
    suite_add_tcase(s, t);
    return check_main(s);
}
