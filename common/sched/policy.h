/* policy.h: the scheduling policy, one of the three seams of the system (policy, backend, clock).
 *
 * A policy answers one question: given the time, the waiting and running requests and the free
 * resources, what does the next iteration do? The simulator and the server both ask it through this
 * interface, so that a policy runs unchanged in both. Lab 02 writes one (policy.c).
 *
 * A policy decides which requests run; it never sees tokens, text or block numbers. It must not use
 * a clock or random numbers: equal views must give equal plans.
 */
#ifndef SERVELAB_SCHED_POLICY_H
#define SERVELAB_SCHED_POLICY_H

#include "base/err.h"
#include "base/kv_block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One request as a policy sees it. Token counts are in tokens, times in nanoseconds of the caller's
 * clock. */
struct policy_request {
    int64_t id;         /* unique within a run; a plan must not depend on its value */
    int64_t arrival_ns; /* request_accepted */
    int32_t prompt_tokens;
    int32_t max_output_tokens;
    int32_t computed_tokens;  /* tokens whose keys and values are in the cache; prefill is done when
                                 this reaches prompt_tokens (+ generated_tokens after a preemption
                                 by recomputation) */
    int32_t generated_tokens; /* output tokens so far */
    int32_t kv_blocks;        /* blocks held now; 0 while waiting */
    int32_t preemptions;      /* number of times it was preempted */
    uint64_t prefix_hash;     /* equal hashes share a prefix; 0 when unknown */
};

struct policy_view {
    int64_t now_ns;
    const struct policy_request *waiting; /* in order of arrival; preempted requests first */
    size_t n_waiting;
    const struct policy_request *running; /* in order of admission */
    size_t n_running;
    int32_t free_kv_blocks, total_kv_blocks;
    int32_t token_budget; /* most tokens one iteration may process, all sequences together */
    int32_t max_running;  /* batch positions */
    bool arrivals_ended;  /* no further request will arrive: a short group needn't wait */
};

enum policy_verb {
    POLICY_RUN,     /* process `tokens` tokens of this request; a waiting one is thereby admitted */
    POLICY_PREEMPT, /* take its batch position and blocks away; it waits again and is recomputed */
    POLICY_REJECT   /* refuse it for good; the client gets `reason` */
};

struct policy_action {
    enum policy_verb verb;
    int64_t id;
    int32_t tokens;     /* POLICY_RUN: >= 1; in prefill at most the tokens not yet computed, in
                           decode exactly 1 */
    const char *reason; /* POLICY_REJECT: a string with static lifetime */
};

/* How long a plan stays valid. Asking again is always correct; a longer validity only saves calls.
 */
enum policy_validity {
    POLICY_ONE_ITERATION = 0, /* ask before the next iteration */
    POLICY_UNTIL_CHANGE /* repeat the plan until a request arrives or ends, a prefill completes, a
                           block is needed and none is free, or `valid_until_ns` is reached,
                           whichever comes first */
};

struct policy_plan {
    struct policy_action *actions; /* the caller's array of cap_actions, at least one for each
                                      request of the view; preemptions and rejections come first */
    size_t n_actions, cap_actions;
    enum policy_validity validity;
    int64_t valid_until_ns; /* ask again at this time even if nothing has happened; INT64_MAX:
                               never. A plan that runs nothing while requests wait must set it once
                               arrivals have ended */
};

struct policy_ops {
    const char *name; /* "single", "continuous", ... */
    /* `arg` is the text after the name and a colon ("4" in "wait-for-n:4"), or "". Returns the
     * state; NULL and *e: a bad argument. */
    void *(*create)(const char *arg, struct err *e);
    /* Fills *plan, which is empty at the call. 0, or -1 and *e: an error of the policy. */
    int (*plan)(void *state, const struct policy_view *view, struct policy_plan *plan,
                struct err *e);
    void (*destroy)(void *state);
};

/* The two policies of policy.c (lab 02). `learner` is a KV-aware continuous batching policy and
 * what the server runs; it takes no argument. `learner-batch:N` forms groups of up to N, a whole
 * number of 1 or more. create() refuses every other argument. Several policies may live at the same
 * time, each with its own N: a fleet has one a server. */
const struct policy_ops *policy_learner(void);
const struct policy_ops *policy_learner_batch(void);

/* KV blocks that hold `tokens` tokens: ceil(tokens / KV_BLOCK_TOKENS). */
static inline int32_t policy_blocks_for(int32_t tokens) {
    return (tokens + KV_BLOCK_TOKENS - 1) / KV_BLOCK_TOKENS;
}

/* Checks a plan against its view: known ids, no id twice, token counts, batch positions, budget and
 * blocks. The simulator and the server check every plan. 0, or -1 and *e with the broken rule.
 * (sched/policy_check.c) */
int policy_check(const struct policy_view *view, const struct policy_plan *plan, struct err *e);

#endif
