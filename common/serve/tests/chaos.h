/* chaos.h: a policy for tests that does anything the rules allow: any chunk of prefill, any batch,
 * preemption at any time. Its argument is its seed. */
#ifndef SERVELAB_SERVE_TESTS_CHAOS_H
#define SERVELAB_SERVE_TESTS_CHAOS_H

#include "base/rng.h"
#include "sched/policy.h"

#include <check.h>
#include <stdlib.h>

enum { CHAOS_POSITIONS = 16 }; /* most batch positions of the engine */

static void *chaos_create(const char *arg, struct err *e) {
    (void)e;
    struct rng *r = malloc(sizeof *r);
    ck_assert_ptr_nonnull(r);
    rng_seed(r, strtoull(arg, NULL, 10));
    return r;
}

static bool run_some(struct policy_plan *plan, struct rng *r, const struct policy_request *q,
                     int32_t *budget, int32_t *blocks) {
    int32_t left = q->prompt_tokens + q->generated_tokens - q->computed_tokens;
    int32_t most = left < *budget ? left : *budget;
    if (most < 1) return false;
    int32_t tokens = 1 + (int32_t)rng_below(r, (uint64_t)most);
    int32_t need = policy_blocks_for(q->computed_tokens + tokens) - q->kv_blocks;
    if (need > *blocks) return false;
    *blocks -= need > 0 ? need : 0;
    *budget -= tokens;
    plan->actions[plan->n_actions++] = (struct policy_action){POLICY_RUN, q->id, tokens, NULL};
    return true;
}

static int chaos_plan(void *state, const struct policy_view *v, struct policy_plan *plan,
                      struct err *e) {
    (void)e;
    struct rng *r = state;
    int32_t budget = v->token_budget, blocks = v->free_kv_blocks;
    int32_t positions = v->max_running - (int32_t)v->n_running;
    bool out[CHAOS_POSITIONS] = {false};
    /* never the first one, so that the run makes progress; always the rest when blocks run out */
    for (size_t i = v->n_running; i-- > 1;) {
        out[i] = blocks < 2 || rng_below(r, 12) == 0;
        if (!out[i]) continue;
        blocks += v->running[i].kv_blocks;
        positions++;
        plan->actions[plan->n_actions++] =
            (struct policy_action){POLICY_PREEMPT, v->running[i].id, 0, NULL};
    }
    for (size_t i = 0; i < v->n_running; i++)
        if (!out[i] && (i == 0 || rng_below(r, 4) > 0))
            run_some(plan, r, &v->running[i], &budget, &blocks);
    for (size_t i = v->n_waiting; i-- > 0 && positions > 0;)
        if (rng_below(r, 2) && run_some(plan, r, &v->waiting[i], &budget, &blocks)) positions--;
    return 0;
}

static const struct policy_ops chaos = {"chaos", chaos_create, chaos_plan, free};

#endif
