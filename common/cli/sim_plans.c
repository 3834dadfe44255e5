/* sim_plans.c: `servelab sim run --plans` prints each plan of the policy before it takes effect:
 * who runs with how many tokens, who is preempted or refused, who waits. A plan that breaks a rule
 * is the last one. See sim_print.h. */
#include "base/clock.h"
#include "cli/sim_print.h"

#include <inttypes.h>
#include <stdio.h>

static const struct policy_ops *watched;
static int64_t plans;

static const struct policy_request *find(const struct policy_view *v, int64_t id) {
    for (size_t i = 0; i < v->n_running; i++)
        if (v->running[i].id == id) return &v->running[i];
    for (size_t i = 0; i < v->n_waiting; i++)
        if (v->waiting[i].id == id) return &v->waiting[i];
    return NULL;
}

static void print_action(const struct policy_view *v, const struct policy_action *a) {
    const struct policy_request *r = find(v, a->id);
    if (!r) {
        printf("  request %" PRId64 ": there is no such request\n", a->id);
    } else if (a->verb == POLICY_PREEMPT) {
        printf("  preempt %" PRId64 ": gives back %d blocks, %d tokens are computed again\n", a->id,
               r->kv_blocks, r->computed_tokens);
    } else if (a->verb == POLICY_REJECT) {
        printf("  reject  %" PRId64 ": %s\n", a->id, a->reason ? a->reason : "no reason");
    } else {
        int32_t all = r->prompt_tokens + r->generated_tokens;
        bool decode = all - r->computed_tokens == 1 && r->computed_tokens > 0;
        int32_t blocks = policy_blocks_for(r->computed_tokens + a->tokens);
        printf("  run     %" PRId64 ": %s%d token%s, %d of %d in the cache, %d block%s", a->id,
               decode ? "decode " : "prefill ", a->tokens, a->tokens == 1 ? "" : "s",
               r->computed_tokens, all, r->kv_blocks, r->kv_blocks == 1 ? "" : "s");
        if (blocks > r->kv_blocks) printf(" and %d more", blocks - r->kv_blocks);
        putchar('\n');
    }
}

static bool acts_on(const struct policy_plan *plan, int64_t id) {
    for (size_t i = 0; i < plan->n_actions; i++)
        if (plan->actions[i].id == id) return true;
    return false;
}

static int print_plan(void *state, const struct policy_view *v, struct policy_plan *plan,
                      struct err *e) {
    int rc = watched->plan(state, v, plan, e);
    if (rc || plan->n_actions > plan->cap_actions) return rc;
    printf("plan %" PRId64 " at %.3f ms: %zu running, %zu waiting, %d of %d blocks free\n", ++plans,
           (double)v->now_ns / NS_PER_MS, v->n_running, v->n_waiting, v->free_kv_blocks,
           v->total_kv_blocks);
    for (size_t i = 0; i < plan->n_actions; i++) print_action(v, &plan->actions[i]);
    for (size_t i = 0; i < v->n_running; i++)
        if (!acts_on(plan, v->running[i].id))
            printf("  pauses  %" PRId64 ": %d blocks\n", v->running[i].id, v->running[i].kv_blocks);
    for (size_t i = 0; i < v->n_waiting; i++)
        if (!acts_on(plan, v->waiting[i].id))
            printf("  waits   %" PRId64 ": prompt %d, at most %d more\n", v->waiting[i].id,
                   v->waiting[i].prompt_tokens, v->waiting[i].max_output_tokens);
    return 0;
}

static void *create(const char *arg, struct err *e) {
    return watched->create(arg, e);
}

static void destroy(void *state) {
    watched->destroy(state);
}

const struct policy_ops *sim_print_plans(const struct policy_ops *policy) {
    static struct policy_ops printing;
    watched = policy;
    printing = (struct policy_ops){policy->name, create, print_plan, destroy};
    return &printing;
}
