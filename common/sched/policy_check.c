/* policy_check.c: does a plan respect its view? The simulator and the server run every plan through
 * this, so that a policy's fault is named where it is made. Not here: whether a plan is wise. */
#include "sched/policy.h"

#include <stdlib.h>

static const struct policy_request *find(const struct policy_request *r, size_t n, int64_t id) {
    for (size_t i = 0; i < n; i++)
        if (r[i].id == id) return &r[i];
    return NULL;
}

static int check_run(const struct policy_request *r, const struct policy_action *a, struct err *e) {
    /* what must be in the cache before the next token can be sampled */
    int32_t left = r->prompt_tokens + r->generated_tokens - r->computed_tokens;
    if (a->tokens < 1)
        return err_set(e, "policy runs request %lld with %d tokens; at least 1 is needed",
                       (long long)a->id, a->tokens);
    if (a->tokens > left)
        return err_set(e,
                       "policy runs request %lld with %d tokens, but only %d are left to process",
                       (long long)a->id, a->tokens, left);
    return 0;
}

static int check_once(const struct policy_plan *plan, size_t i, struct err *e) {
    for (size_t j = 0; j < i; j++)
        if (plan->actions[j].id == plan->actions[i].id)
            return err_set(e, "policy names request %lld twice in one plan",
                           (long long)plan->actions[i].id);
    return 0;
}

int policy_check(const struct policy_view *view, const struct policy_plan *plan, struct err *e) {
    int64_t free_blocks = view->free_kv_blocks;
    int64_t tokens = 0, positions = (int64_t)view->n_running;
    bool ran = false;
    for (size_t i = 0; i < plan->n_actions; i++) {
        const struct policy_action *a = &plan->actions[i];
        const struct policy_request *w = find(view->waiting, view->n_waiting, a->id);
        const struct policy_request *r = w ? w : find(view->running, view->n_running, a->id);
        if (!r)
            return err_set(e, "policy names request %lld, which neither waits nor runs",
                           (long long)a->id);
        if (check_once(plan, i, e)) return -1;
        if (a->verb != POLICY_RUN && ran)
            return err_set(e,
                           "policy preempts or rejects request %lld after its first run action; "
                           "preemptions and rejections come first",
                           (long long)a->id);
        switch (a->verb) {
        case POLICY_PREEMPT:
            if (w)
                return err_set(e, "policy preempts request %lld, which isn't running",
                               (long long)a->id);
            free_blocks += r->kv_blocks;
            positions--;
            break;
        case POLICY_REJECT:
            if (!w)
                return err_set(e, "policy rejects request %lld, which is running already",
                               (long long)a->id);
            if (!a->reason)
                return err_set(e, "policy rejects request %lld without a reason", (long long)a->id);
            break;
        case POLICY_RUN:
            ran = true;
            if (check_run(r, a, e)) return -1;
            tokens += a->tokens;
            positions += w != NULL;
            free_blocks -= policy_blocks_for(r->computed_tokens + a->tokens) - r->kv_blocks;
            break;
        default:
            return err_set(e, "policy answers with unknown action %d", (int)a->verb);
        }
    }
    if (tokens > view->token_budget)
        return err_set(e, "policy plans %lld tokens; the budget of one iteration is %d",
                       (long long)tokens, view->token_budget);
    if (positions > view->max_running)
        return err_set(e, "policy needs %lld batch positions; there are %d", (long long)positions,
                       view->max_running);
    if (free_blocks < 0)
        return err_set(e, "policy needs %lld more KV blocks than are free",
                       (long long)-free_blocks);
    return 0;
}
