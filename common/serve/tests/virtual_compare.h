/* virtual_compare.h: the engine in virtual time and the simulator, request by request: every event
 * at the same nanosecond. For the tests of virtual.h.
 */
#ifndef SERVELAB_SERVE_TESTS_VIRTUAL_COMPARE_H
#define SERVELAB_SERVE_TESTS_VIRTUAL_COMPARE_H

#include "sim/tests/simulate.h"

#include "serve/tests/fake.h"
#include "serve/virtual.h"
#include "sim/hardware.h"

static struct tokenizer *tokenizer; /* made by main */

/* ---- both sides as lists of events ----------------------------------------------------------- */

struct engine_events {
    struct seen_event *seen;
    size_t n, cap, ended;
};

static inline void note(struct engine_events *all, int64_t id, const struct event *ev) {
    if (all->n == all->cap) {
        all->cap = all->cap ? all->cap * 2 : 1024;
        all->seen = realloc(all->seen, all->cap * sizeof *all->seen);
        ck_assert_ptr_nonnull(all->seen);
    }
    all->seen[all->n++] = (struct seen_event){id, ev->t_ns, ev->kind};
}

static inline void collect(void *ctx, const struct sim_request *q, const struct record *r) {
    struct engine_events *all = ctx;
    all->ended++;
    for (size_t i = 0; i < r->n_events; i++)
        if (r->events[i].kind != EV_TOKENIZATION_FINISHED) note(all, q->id, &r->events[i]);
}

/* By request, then time, then kind: the two sides write simultaneous events in different order. */
static inline int compare(const void *pa, const void *pb) {
    const struct seen_event *a = pa, *b = pb;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    if (a->t_ns != b->t_ns) return a->t_ns < b->t_ns ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

static inline void expect_equal(const struct setting *set, const struct sim_request *list,
                                size_t n) {
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
    qsort(engine.seen, engine.n, sizeof *engine.seen, compare);
    for (size_t i = 0; i < sim.n_events && i < engine.n; i++) {
        const struct seen_event *s = &sim.events[i], *g = &engine.seen[i];
        ck_assert_msg(compare(s, g) == 0,
                      "%s: request %lld: %s at %lld ns in the simulator, request %lld: %s at %lld "
                      "ns in the engine",
                      set->policy, (long long)s->id, event_name(s->kind), (long long)s->t_ns,
                      (long long)g->id, event_name(g->kind), (long long)g->t_ns);
    }
    ck_assert_uint_eq(sim.n_events, engine.n);
    free(engine.seen);
    run_free(&sim);
}

static inline struct cost_model llama_on(const char *gpu) {
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

#endif
