/* virtual.h: the real engine over a list of requests in virtual time.
 *
 * The engine, its policy, its KV blocks and its stamps are the server's own. The machine is a paced
 * backend that computes nothing (backend/paced.h, backend/none.h), and the clock moves only when a
 * step or the next arrival moves it. So an hour of a trace takes seconds and the result is the same
 * every time. On the same workload, policy and cost model the events equal those of the simulator
 * (sim/sim.h) to the nanosecond; tests/test_virtual.c holds the two against each other.
 *
 * Not here: HTTP, text, and requests that fail by script (sim_request.fail_after).
 */
#ifndef SERVELAB_SERVE_VIRTUAL_H
#define SERVELAB_SERVE_VIRTUAL_H

#include "model/tokenizer.h"
#include "record/record.h"
#include "sched/policy.h"
#include "sim/cost.h"
#include "workload/request.h"

struct virtual_config {
    const struct policy_ops *policy;
    const char *policy_arg; /* "" for none */
    struct cost_model cost; /* not COST_SERVICE: the engine knows no service times */
    int32_t kv_blocks, token_budget, max_running;
    const struct tokenizer *tokenizer;
    int32_t filler; /* the token id of every prompt and answer; one that isn't an end token */
    /* Called once per request, in order of their ends. The record's events are on the clock
     * "server", clock_api "virtual". */
    void (*each)(void *ctx, const struct sim_request *q, const struct record *r);
    void *ctx;
};

/* Runs list[0..n), which is in order of arrival_ns. Blocks: when it returns 0, every KV block is
 * free again (this is checked). -1 and *e: the policy broke a rule or leaves requests waiting for
 * ever, or the list can't be run. */
int virtual_run(const struct virtual_config *c, const struct sim_request *list, size_t n,
                struct err *e);

#endif
