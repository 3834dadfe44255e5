/* test_virtual.c: the engine in virtual time and the simulator, request by request: every event at
 * the same nanosecond.
 *
 * Both run the same workload under the same policy and cost model. Two programs were written from
 * one description, so a difference means that one of them is wrong.
 */
#include "sim/tests/simulate.h"

#include "serve/tests/fake.h"
#include "serve/virtual.h"
#include "sim/hardware.h"
#include "workload/workload.h"

static struct tokenizer *tokenizer;

/* ---- both sides as lists of events ----------------------------------------------------------- */

struct engine_events {
    struct told *told;
    size_t n, cap, ended;
};

static void note(struct engine_events *all, int64_t id, const struct event *ev) {
    if (all->n == all->cap) {
        all->cap = all->cap ? all->cap * 2 : 1024;
        all->told = realloc(all->told, all->cap * sizeof *all->told);
        ck_assert_ptr_nonnull(all->told);
    }
    all->told[all->n++] = (struct told){id, ev->t_ns, ev->kind};
}

static void collect(void *ctx, const struct sim_request *q, const struct record *r) {
    struct engine_events *all = ctx;
    all->ended++;
    for (size_t i = 0; i < r->n_events; i++)
        if (r->events[i].kind != EV_TOKENIZATION_FINISHED) note(all, q->id, &r->events[i]);
}

/* By request, then time, then kind: the two sides write simultaneous events in different order. */
static int compare(const void *pa, const void *pb) {
    const struct told *a = pa, *b = pb;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    if (a->t_ns != b->t_ns) return a->t_ns < b->t_ns ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

static void expect_equal(const struct setting *set, const struct sim_request *list, size_t n) {
    struct run sim = run_list(set, list, n);
    struct engine_events engine = {0};
    struct err e;
    const char *arg;
    const struct policy_ops *policy = policy_find(set->policy, &arg, &e);
    struct virtual_config c = {.policy = policy,
                               .policy_arg = arg,
                               .cost = set->cost,
                               .kv_blocks = set->kv_blocks,
                               .token_budget = set->token_budget,
                               .max_running = set->max_running,
                               .tokenizer = tokenizer,
                               .filler = 'a',
                               .each = collect,
                               .ctx = &engine};
    ck_assert_msg(!sim.failed, "simulator: %s", sim.err.text);
    ck_assert_msg(virtual_run(&c, list, n, &e) == 0, "%s: %s", set->policy, e.text);
    ck_assert_uint_eq(engine.ended, n);
    qsort(sim.events, sim.n_events, sizeof *sim.events, compare);
    qsort(engine.told, engine.n, sizeof *engine.told, compare);
    for (size_t i = 0; i < sim.n_events && i < engine.n; i++) {
        const struct told *s = &sim.events[i], *g = &engine.told[i];
        ck_assert_msg(compare(s, g) == 0,
                      "%s: request %lld: %s at %lld ns in the simulator, request %lld: %s at %lld "
                      "ns in the engine",
                      set->policy, (long long)s->id, event_name(s->kind), (long long)s->t_ns,
                      (long long)g->id, event_name(g->kind), (long long)g->t_ns);
    }
    ck_assert_uint_eq(sim.n_events, engine.n);
    free(engine.told);
    run_free(&sim);
}

static struct cost_model llama_on(const char *gpu) {
    struct deployment d;
    struct cost_model cost;
    struct err e;
    ck_assert(!deployment_find("llama-2-7b", gpu, &d, &e) && !deployment_cost(&d, &cost, &e));
    return cost;
}

static const char *const ALL[] = {
    "single",  "static:4",       "wait-for-n:3", "wait-for-time:200,4", "continuous",
    "chunked", "shortest-first", "learner",      "learner-batch:4"};
enum { N_ALL = sizeof ALL / sizeof *ALL };

/* ---- the hand-checkable table ---------------------------------------------------------------- */

START_TEST(hand_tables) {
    const struct cost_model cost = {
        .kind = COST_PER_REQUEST, .setup_ns = 4 * NS_PER_MS, .per_request_ns = NS_PER_MS};
    struct sim_request list[4];
    for (int i = 0; i < 4; i++)
        list[i] = (struct sim_request){.id = i,
                                       .arrival_ns = i * NS_PER_MS,
                                       .prompt_tokens = 1,
                                       .output_tokens = 1,
                                       .max_output_tokens = 1};
    static const char *const policies[] = {"single", "wait-for-n:4"};
    static const int64_t ends_ms[][4] = {{5, 10, 15, 20}, {11, 11, 11, 11}};
    for (int p = 0; p < 2; p++) {
        struct setting set = {policies[p], cost, 64, 4096, 64, .events = true};
        expect_equal(&set, list, 4);
        /* and against the table itself, which was worked out by hand */
        struct run run = run_list(&set, list, 4);
        for (int i = 0; i < 4; i++)
            ck_assert_int_eq(outcome_of(&run, i)->completion_ns, ends_ms[p][i] * NS_PER_MS);
        run_free(&run);
    }
}
END_TEST

/* ---- random workloads, each policy, from an ample cache to one that preempts ----------------- */

START_TEST(random_workloads) {
    enum { N = 24, SEEDS = 200 };
    struct sim_request list[N];
    int64_t preemptions = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        random_load(list, N, seed, 300);
        for (int i = 0; i < N; i++) list[i].fail_after = 0;
        struct setting set = {.policy = ALL[_i],
                              .cost = DECODER,
                              .kv_blocks = 40 + (int32_t)(seed % 4) * 40,
                              .token_budget = 16 << seed % 7,
                              .max_running = 4 + (int32_t)(seed % 5) * 3,
                              .events = true};
        if (set.token_budget < set.max_running) set.token_budget = set.max_running;
        struct run run = run_list(&set, list, N);
        preemptions += run.counters.preemptions;
        run_free(&run);
        expect_equal(&set, list, N);
    }
    /* the small caches must be small: otherwise recomputation is never compared */
    if (!strcmp(ALL[_i], "continuous") || !strcmp(ALL[_i], "chunked"))
        ck_assert_int_gt(preemptions, 100);
}
END_TEST

/* ---- the first 2,000 requests of a trace's shape --------------------------------------------- */

START_TEST(poisson_on_h100) {
    enum { N = 400 };
    const struct workload_spec spec = {.arrivals = ARRIVALS_POISSON,
                                       .requests = N,
                                       .rate_rps = 8,
                                       .seed = 11,
                                       .prompt_tokens = {1, 2000},
                                       .output_tokens = {1, 300}};
    static struct sim_request list[N];
    struct err e;
    struct workload *w = workload_open(&spec, &e);
    ck_assert_msg(w != NULL, "%s", e.text);
    for (int i = 0; i < N; i++) ck_assert_int_eq(workload_next(w, &list[i], &e), 1);
    struct setting set = {ALL[_i], llama_on("h100"), 900, 2048, 64, .events = true};
    expect_equal(&set, list, N);
    workload_close(w);
}
END_TEST

/* ---- what can't be run ----------------------------------------------------------------------- */

START_TEST(refused_at_once) {
    struct sim_request big = {.prompt_tokens = 100, .output_tokens = 1, .max_output_tokens = 100};
    struct setting set = {"continuous", DECODER, 4, 64, 4, .events = true};
    expect_equal(&set, &big, 1); /* both reject what can never fit, when it arrives */
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("virtual");
    TCase *c = tcase_create("virtual time");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, hand_tables);
    tcase_add_loop_test(c, random_workloads, 0, N_ALL);
    tcase_add_loop_test(c, poisson_on_h100, 0, N_ALL);
    tcase_add_test(c, refused_at_once);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    tokenizer = fake_tokenizer();
    int rc = check_main(suite());
    tokenizer_free(tokenizer);
    return rc;
}
