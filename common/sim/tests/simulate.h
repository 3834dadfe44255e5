/* simulate.h: for the simulator's tests: a list of requests through one server or a fleet, and what
 * must hold of every run.
 */
#ifndef SERVELAB_SIM_TESTS_SIMULATE_H
#define SERVELAB_SIM_TESTS_SIMULATE_H

#include "base/clock.h"
#include "base/rng.h"
#include "sched/policies.h"
#include "sim/fleet.h"
#include "testing/check_main.h"

#include <stdlib.h>
#include <string.h>

enum { PLENTY = 1 << 28 };

struct setting {
    const char *policy;
    struct cost_model cost;
    int32_t kv_blocks, token_budget, max_running; /* 0: plenty */
    int64_t max_in_system, prefix_tokens;
    bool ask_always, events;
    const char *router; /* NULL: one server without a fleet */
    int32_t servers;
};

/* One event as it was reported. */
struct seen_event {
    int64_t id, t_ns;
    enum event_kind kind;
};

struct run {
    struct sim_outcome *outcomes; /* in order of completion */
    size_t n, cap;
    struct seen_event *events;
    size_t n_events, cap_events;
    struct sim_counters counters;
    struct sim_counters server[64]; /* of a fleet */
    struct err err;
    bool failed;
};

static inline void run_free(struct run *run) {
    free(run->outcomes);
    free(run->events);
}

static inline void run_collect(void *ctx, const struct sim_outcome *o) {
    struct run *run = ctx;
    ck_assert_uint_lt(run->n, run->cap);
    run->outcomes[run->n++] = *o;
}

static inline void run_note(void *ctx, int64_t id, enum event_kind kind, int64_t t_ns) {
    struct run *run = ctx;
    if (run->n_events == run->cap_events) {
        run->cap_events = run->cap_events ? run->cap_events * 2 : 1024;
        run->events = realloc(run->events, run->cap_events * sizeof *run->events);
        ck_assert_ptr_nonnull(run->events);
    }
    run->events[run->n_events++] = (struct seen_event){id, t_ns, kind};
}

static inline struct sim_config config_of(const struct setting *set, struct run *run) {
    const char *arg;
    return (struct sim_config){.policy = policy_find(set->policy, &arg, &run->err),
                               .cost = set->cost,
                               .kv_blocks = set->kv_blocks ? set->kv_blocks : PLENTY,
                               .token_budget = set->token_budget ? set->token_budget : PLENTY,
                               .max_running = set->max_running ? set->max_running : 1 << 20,
                               .max_in_system = set->max_in_system ? set->max_in_system : INT64_MAX,
                               .prefix_tokens = set->prefix_tokens,
                               .ask_always = set->ask_always,
                               .each = run_collect,
                               .event = set->events ? run_note : NULL,
                               .ctx = run};
}

static inline void run_fleet(const struct setting *set, const struct sim_request *list, size_t n,
                             const char *arg, struct run *run) {
    struct sim_config c = config_of(set, run);
    struct fleet *f = fleet_create(&c, arg, set->servers, set->router, 7, &run->err);
    ck_assert_msg(f != NULL, "%s", run->err.text);
    for (size_t i = 0; i < n && !run->failed; i++)
        run->failed =
            fleet_run_until(f, list[i].arrival_ns, &run->err) || fleet_push(f, &list[i], &run->err);
    run->failed = run->failed || fleet_finish(f, &run->err);
    fleet_counters(f, &run->counters);
    for (int32_t i = 0; i < set->servers && i < 64; i++)
        run->server[i] = *fleet_server_counters(f, i);
    fleet_free(f);
}

static inline void run_server(const struct setting *set, const struct sim_request *list, size_t n,
                              const char *arg, struct run *run) {
    struct sim_config c = config_of(set, run);
    c.policy_state = c.policy->create(arg, &run->err);
    ck_assert_msg(c.policy_state != NULL, "%s", run->err.text);
    struct sim *s = sim_create(&c, &run->err);
    ck_assert_msg(s != NULL, "%s", run->err.text);
    for (size_t i = 0; i < n && !run->failed; i++)
        run->failed =
            sim_run_until(s, list[i].arrival_ns, &run->err) || sim_push(s, &list[i], &run->err);
    run->failed = run->failed || sim_finish(s, &run->err);
    run->counters = *sim_counters(s);
    sim_free(s);
    c.policy->destroy(c.policy_state);
}

static inline struct run run_list(const struct setting *set, const struct sim_request *list,
                                  size_t n) {
    struct run run = {.outcomes = malloc((n + 1) * sizeof *run.outcomes), .cap = n};
    const char *arg;
    ck_assert_msg(policy_find(set->policy, &arg, &run.err) != NULL, "%s", run.err.text);
    (set->router ? run_fleet : run_server)(set, list, n, arg, &run);
    return run;
}

static inline const struct sim_outcome *outcome_of(const struct run *run, int64_t id) {
    for (size_t i = 0; i < run->n; i++)
        if (run->outcomes[i].request.id == id) return &run->outcomes[i];
    ck_abort_msg("request %lld has no outcome", (long long)id);
}

/* What must hold of one outcome. Returns the tokens generated. */
static inline int64_t check_outcome(const struct sim_outcome *o) {
    if (o->end == SIM_COMPLETED || o->end == SIM_FAILED) {
        ck_assert_int_ge(o->start_ns, o->request.arrival_ns);
        ck_assert_int_ge(o->first_token_ns, o->start_ns);
        ck_assert_int_ge(o->completion_ns, o->first_token_ns);
        ck_assert_int_eq(o->output_tokens,
                         o->end == SIM_FAILED ? o->request.fail_after : o->request.output_tokens);
        ck_assert_int_lt(o->cached_tokens, o->request.prompt_tokens);
        return o->output_tokens;
    }
    ck_assert_ptr_nonnull(o->reason);
    return 0;
}

/* What must hold of every run. kv_blocks: the cache of one server, 0 where there is no limit. */
static inline void check_invariants(const struct run *run, size_t n, int32_t kv_blocks) {
    const struct sim_counters *c = &run->counters;
    ck_assert_msg(!run->failed, "%s", run->err.text);
    ck_assert_uint_eq(run->n, n);
    ck_assert_int_eq(c->completed + c->rejected + c->failed, (int64_t)n);
    ck_assert(c->in_system_time == c->latency_sum); /* Little's law, exactly */
    if (kv_blocks) ck_assert_int_le(c->kv_peak_blocks, kv_blocks);
    ck_assert(c->kv_token_time <= c->kv_time * KV_BLOCK_TOKENS);
    int64_t outputs = 0, least = 0;
    for (size_t i = 0; i < n; i++) {
        const struct sim_outcome *o = &run->outcomes[i];
        int64_t tokens = check_outcome(o);
        if (o->end == SIM_COMPLETED) outputs += tokens;
        /* every token of the prompt and every generated one but the last is processed, or found */
        if (tokens) least += o->request.prompt_tokens + tokens - 1;
        if (i) ck_assert_int_le(run->outcomes[i - 1].completion_ns, o->completion_ns);
    }
    ck_assert_int_eq(outputs, c->output_tokens);
    if (c->preemptions == 0)
        ck_assert_int_eq(least, c->computed_tokens + c->cached_tokens);
    else
        ck_assert_int_le(least, c->computed_tokens + c->cached_tokens); /* some twice */
}

static inline bool same_outcome(const struct sim_outcome *a, const struct sim_outcome *b) {
    return a->request.id == b->request.id && a->end == b->end && a->start_ns == b->start_ns &&
           a->first_token_ns == b->first_token_ns && a->completion_ns == b->completion_ns &&
           a->output_tokens == b->output_tokens && a->cached_tokens == b->cached_tokens &&
           a->preemptions == b->preemptions && a->server == b->server;
}

/* ---- a small decoder and requests for it ---- */

static const struct cost_model DECODER = {.kind = COST_TRANSFORMER,
                                          .memory_fixed_ps = INT64_C(6700) * 1000 * 1000,
                                          .memory_per_context_ps = 260 * 1000,
                                          .compute_per_token_ps = INT64_C(65) * 1000 * 1000,
                                          .compute_per_attended_fs = 2000,
                                          .overhead_ns = 400 * 1000};

/* Prompts up to `longest`, one in eight of one token; outputs of 1 to 200; one in eight breaks. */
static inline void random_load(struct sim_request *list, size_t n, uint64_t seed, int32_t longest) {
    struct rng r;
    rng_seed(&r, seed);
    int64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        at += rng_exponential_ns(&r, 150 * NS_PER_MS);
        int32_t out = 1 + (int32_t)rng_below(&r, 200);
        int32_t prompt = 1 + (int32_t)rng_below(&r, (uint64_t)longest);
        list[i] = (struct sim_request){.id = (int64_t)i,
                                       .arrival_ns = at,
                                       .prompt_tokens = rng_below(&r, 8) ? prompt : 1,
                                       .output_tokens = out,
                                       .max_output_tokens = out + (int32_t)rng_below(&r, 100),
                                       .fail_after =
                                           rng_below(&r, 8) ? 0 : 1 + (int32_t)rng_below(&r, 100)};
    }
}

/* Every policy that the simulator has, with an argument. */
static const char *const POLICIES[] = {
    "single",     "static:4", "wait-for-n:3",  "wait-for-time:200,4",
    "continuous", "chunked",  "shortest-first"};
enum { N_POLICIES = sizeof POLICIES / sizeof *POLICIES };

#endif
