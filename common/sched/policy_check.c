/* policy_check.c: checks a plan against its view, so that a broken rule is reported when the policy
 * breaks it. See policy.h. Not here: whether a plan is good. */
#include "sched/policy.h"

#include <stdlib.h>
#include <string.h>

/* One list of the view, and the plan's actions on it so far. */
struct list {
    const struct policy_request *requests;
    size_t n, cursor; /* plans mostly name requests in the order of the view: each search starts
                         after the last one found */
    bool backwards;   /* a request was named after a later one of the list */
    uint64_t *named;  /* bitmap of the requests already named; NULL in the first pass */
};

/* In the first pass: the request at the cursor if it has that id, else NULL. While every action is
 * found like this, no request can be named twice. */
static const struct policy_request *list_next(struct list *l, int64_t id) {
    if (l->named || l->cursor >= l->n || l->requests[l->cursor].id != id) return NULL;
    return &l->requests[l->cursor++];
}

/* The request of that id, or NULL. In the second pass *again says whether the plan has named it
 * before. */
static const struct policy_request *list_find(struct list *l, int64_t id, bool *again) {
    for (size_t k = 0, i = l->cursor; k < l->n; k++, i++) {
        if (i >= l->n) i = 0;
        if (l->requests[i].id != id) continue;
        if (i < l->cursor) l->backwards = true;
        l->cursor = i + 1;
        if (l->named) {
            uint64_t bit = UINT64_C(1) << (i & 63);
            *again = l->named[i / 64] & bit;
            l->named[i / 64] |= bit;
        }
        return &l->requests[i];
    }
    return NULL;
}

static int check_run(const struct policy_request *r, const struct policy_action *a, struct err *e) {
    /* tokens that must be in the cache before the next one can be sampled */
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

/* The sums over a plan. */
struct demand {
    int64_t free_blocks, tokens, positions;
    bool ran;
};

static int check_action(const struct policy_action *a, struct list *waiting, struct list *running,
                        struct demand *d, struct err *e) {
    bool again = false;
    const struct policy_request *w = NULL, *r = list_next(running, a->id);
    if (!r) r = w = list_next(waiting, a->id);
    if (!r) r = list_find(running, a->id, &again);
    if (!r) r = w = list_find(waiting, a->id, &again);
    long long id = a->id;
    if (!r) return err_set(e, "policy names request %lld, which neither waits nor runs", id);
    if (again) return err_set(e, "policy names request %lld twice in one plan", id);
    if (a->verb != POLICY_RUN && d->ran)
        return err_set(e,
                       "policy preempts or rejects request %lld after its first run action; "
                       "preemptions and rejections come first",
                       id);
    switch (a->verb) {
    case POLICY_PREEMPT:
        if (w) return err_set(e, "policy preempts request %lld, which isn't running", id);
        d->free_blocks += r->kv_blocks;
        d->positions--;
        return 0;
    case POLICY_REJECT:
        if (!w) return err_set(e, "policy rejects request %lld, which is running already", id);
        if (!a->reason) return err_set(e, "policy rejects request %lld without a reason", id);
        return 0;
    case POLICY_RUN:
        d->ran = true;
        d->tokens += a->tokens;
        d->positions += w != NULL;
        if (check_run(r, a, e)) return -1;
        int32_t need = policy_blocks_for(r->computed_tokens + a->tokens) - r->kv_blocks;
        if (need > 0) d->free_blocks -= need;
        return 0;
    }
    return err_set(e, "policy answers with unknown action %d", (int)a->verb);
}

static int check_actions(const struct policy_plan *plan, struct list *waiting, struct list *running,
                         struct demand *d, struct err *e) {
    for (size_t i = 0; i < plan->n_actions; i++)
        if (check_action(&plan->actions[i], waiting, running, d, e)) return -1;
    return 0;
}

static uint64_t *no_bits(size_t n) {
    uint64_t *bits = calloc(n / 64 + 1, sizeof *bits);
    INVARIANT(bits);
    return bits;
}

int policy_check(const struct policy_view *view, const struct policy_plan *plan, struct err *e) {
    struct list waiting = {.requests = view->waiting, .n = view->n_waiting};
    struct list running = {.requests = view->running, .n = view->n_running};
    const struct demand nothing = {view->free_kv_blocks, 0, (int64_t)view->n_running, false};
    struct demand d = nothing;
    if (plan->n_actions > plan->cap_actions)
        return err_set(e, "policy wrote %zu actions into room for %zu", plan->n_actions,
                       plan->cap_actions);
    int rc = check_actions(plan, &waiting, &running, &d, e);
    /* in the view's order no request can be named twice; otherwise a second pass checks it */
    if (waiting.backwards || running.backwards) {
        waiting.named = no_bits(waiting.n);
        running.named = no_bits(running.n);
        d = nothing;
        rc = check_actions(plan, &waiting, &running, &d, e);
        free(waiting.named);
        free(running.named);
    }
    if (rc) return rc;
    if (d.tokens > view->token_budget)
        return err_set(e, "policy plans %lld tokens; the budget of one iteration is %d",
                       (long long)d.tokens, view->token_budget);
    if (d.positions > view->max_running)
        return err_set(e, "policy needs %lld batch positions; there are %d", (long long)d.positions,
                       view->max_running);
    if (d.free_blocks < 0)
        return err_set(e, "policy needs %lld more KV blocks than are free",
                       (long long)-d.free_blocks);
    return 0;
}
