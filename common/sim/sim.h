/* sim.h: one simulated server: a queue, a policy, a worker, a clock in integer nanoseconds.
 *
 * The caller pushes arrivals in order of time and lets the server run up to the next one. Between
 * two arrivals the server alternates: ask the policy, check its plan, let one iteration pass, take
 * its effects. An iteration in flight isn't interrupted. Nothing is random here: all randomness is
 * in the arrivals.
 *
 *   for each arrival a, in order:  sim_run_until(s, a.arrival_ns); sim_push(s, &a);
 *   sim_finish(s);
 *
 * At one instant the effects of an iteration come first, then arrivals, then the policy's decision.
 *
 * A plan that says POLICY_UNTIL_CHANGE is repeated without asking while nothing changes. That only
 * saves time: with sim_config.ask_always the records are the same.
 *
 * Not here: arrivals (workload/), the time of an iteration (cost.h), measurement (run.h).
 */
#ifndef SERVELAB_SIM_SIM_H
#define SERVELAB_SIM_SIM_H

#include "base/err.h"
#include "record/record.h"
#include "sched/policy.h"
#include "sim/cost.h"
#include "workload/request.h"

enum sim_end {
    SIM_COMPLETED,
    SIM_REJECTED_BY_POLICY,
    SIM_REJECTED_TOO_LARGE,
    SIM_REJECTED_QUEUE_FULL,
    SIM_FAILED /* fail_after */
};

struct sim_outcome {
    struct sim_request request;
    enum sim_end end;
    const char *reason;     /* why it was rejected; NULL otherwise */
    int64_t start_ns;       /* first admission; -1: never admitted */
    int64_t first_token_ns; /* end of the iteration that made it; -1: none */
    int64_t completion_ns;  /* end of the last iteration, or when it was rejected */
    int32_t output_tokens;  /* generated */
    int32_t cached_tokens;  /* of the prompt, found by prefix reuse at its first admission */
    int32_t preemptions;
    int32_t server; /* number of the server in its fleet */
};

typedef void sim_outcome_fn(void *ctx, const struct sim_outcome *o);

/* Called for each event of a request, in order of time, with the kinds of record/record.h:
 * accepted, admitted, preempted, resumed, first_token, token_sent (one token), finished, rejected,
 * failed. */
typedef void sim_event_fn(void *ctx, int64_t id, enum event_kind kind, int64_t t_ns);

struct sim_config {
    const struct policy_ops *policy;
    void *policy_state;
    struct cost_model cost;
    int32_t kv_blocks;     /* size of the cache; at most INT32_MAX / 2, which is never full */
    int32_t token_budget;  /* most tokens an iteration processes */
    int32_t max_running;   /* batch positions */
    int64_t max_in_system; /* arrivals beyond are rejected (M/M/1/K); INT64_MAX: no limit */
    bool ask_always;       /* ask the policy before every iteration */
    int64_t prefix_tokens; /* prefix reuse: size of the LRU store of prefixes; 0: off */
    int32_t server;        /* its number in a fleet, for the outcomes */
    sim_outcome_fn *each;  /* called once a request, in order of completion */
    sim_event_fn *event;   /* NULL: no event callback; results are unchanged */
    void *ctx;
};

/* Counted while running; all times in ns. */
struct sim_counters {
    int64_t arrivals, completed, rejected, failed;
    int64_t iterations; /* forward passes: a batch of 8 is one */
    int64_t policy_calls;
    int64_t preemptions;
    int64_t prompt_tokens, output_tokens; /* of completed requests */
    int64_t computed_tokens;              /* processed in iterations, recomputation included */
    int64_t cached_tokens;                /* not processed, because prefix reuse found them */
    int64_t busy_ns;
    int64_t batch_time; /* integral of the batch size over busy time: requests * ns */
    int64_t kv_peak_blocks;
    __int128 kv_time; /* integral of the blocks in use: blocks * ns. Mean occupancy is this over
                               kv_blocks * (last completion - first arrival) */
    __int128 kv_token_time;  /* integral of the tokens in them: tokens * ns. Internal fragmentation,
                                the share of their slots that is empty, is
                                1 - kv_token_time / (KV_BLOCK_TOKENS * kv_time) */
    __int128 in_system_time; /* integral of the number in the system: requests * ns (Little's law)
                              */
    __int128 latency_sum;    /* sum of end - arrival of all that entered */
    int64_t first_arrival_ns, last_completion_ns;
};

struct sim;

struct sim *sim_create(const struct sim_config *c, struct err *e);
void sim_free(struct sim *s);

/* Runs all events before t_ns. -1 and *e: the policy broke a rule or makes no progress. */
int sim_run_until(struct sim *s, int64_t t_ns, struct err *e);

/* As sim_run_until, but returns 1 as soon as a request has ended: further arrivals may come from
 * that instant on. For closed loops, whose next arrival depends on it:
 *
 *   for (;;) {
 *       t = the next known arrival, INT64_MAX without one
 *       rc = sim_run_to_end(s, t, e);
 *       if (rc == 1) continue;     there may be an earlier arrival now
 *       if (rc < 0) a fault
 *       if (t == INT64_MAX) break;
 *       sim_push(s, ...);
 *   }
 *   sim_finish(s, e);
 */
int sim_run_to_end(struct sim *s, int64_t t_ns, struct err *e);

/* A lower bound on the time of the next event: until then no request ends, none is admitted and the
 * policy isn't asked. INT64_MAX: there is none without an arrival. */
int64_t sim_next_ns(const struct sim *s);

/* An arrival at r->arrival_ns. The server must have run up to that time, and no earlier arrival may
 * follow. -1 and *e: the request is invalid. */
int sim_push(struct sim *s, const struct sim_request *r, struct err *e);

/* Ends the arrivals and runs to the end. -1 and *e as sim_run_until, and when the policy leaves
 * requests waiting. */
int sim_finish(struct sim *s, struct err *e);

const struct sim_counters *sim_counters(const struct sim *s);

/* Number of requests that wait or run. */
int64_t sim_in_system(const struct sim *s);

#endif
