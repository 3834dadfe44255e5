/* policy.c: who runs next (sched/policy.h has the rules). The same file runs in the simulator and
 * in the server.
 *
 * "single": first come, first served, one batch position. Whoever runs, runs to its end; then the
 * request that has waited longest follows. A prompt longer than the token budget is processed in
 * chunks. What can never run is refused at once, also while another request runs, so that its
 * client needn't wait for the bad news.
 */
#include "sched/policy.h"
// BEGIN SOLUTION
//| #include "base/lab_todo.h"

#include <string.h>

static int32_t min32(int32_t a, int32_t b) {
    return a < b ? a : b;
}

/* Tokens that must be in the cache before the next one can be sampled. */
static int32_t left_of(const struct policy_request *r) {
    return r->prompt_tokens + r->generated_tokens - r->computed_tokens;
}

/* Why the request can never run on this machine; NULL when it can. */
static const char *impossible(const struct policy_view *v, const struct policy_request *r) {
    if (r->prompt_tokens < 1) return "the prompt is empty";
    if ((int64_t)r->prompt_tokens + r->max_output_tokens >
        (int64_t)v->total_kv_blocks * KV_BLOCK_TOKENS)
        return "prompt and max_tokens together need more KV blocks than the whole cache has";
    return NULL;
}

static int add(struct policy_plan *plan, struct policy_action a, struct err *e) {
    if (plan->n_actions == plan->cap_actions)
        return err_set(e, "the plan has room for %zu actions only", plan->cap_actions);
    plan->actions[plan->n_actions++] = a;
    return 0;
}

static int run(struct policy_plan *plan, const struct policy_view *v,
               const struct policy_request *r, struct err *e) {
    struct policy_action a = {POLICY_RUN, r->id, min32(left_of(r), v->token_budget), NULL};
    return add(plan, a, e);
}

static int single_plan(void *state, const struct policy_view *v, struct policy_plan *plan,
                       struct err *e) {
    (void)state;
    const struct policy_request *next = v->n_running > 0 ? &v->running[0] : NULL;
    for (size_t i = 0; i < v->n_waiting; i++) {
        const struct policy_request *w = &v->waiting[i];
        const char *reason = impossible(v, w);
        if (reason && add(plan, (struct policy_action){POLICY_REJECT, w->id, 0, reason}, e))
            return -1;
        if (!reason && !next) next = w;
    }
    plan->validity = POLICY_UNTIL_CHANGE;
    plan->valid_until_ns = INT64_MAX;
    return next ? run(plan, v, next, e) : 0;
}

static void *single_create(const char *arg, struct err *e) {
    static int no_state;
    if (!arg[0]) return &no_state;
    err_at(e, 0, "--policy", "\"single\" takes no argument, not '%s'", arg);
    return NULL;
}

static void single_destroy(void *state) {
    (void)state;
}
// END SOLUTION

const struct policy_ops *policy_learner(void) {
    // BEGIN SOLUTION
    //| LAB_TODO("policy_learner");
    static const struct policy_ops single = {"single", single_create, single_plan, single_destroy};
    return &single;
    // END SOLUTION
}
