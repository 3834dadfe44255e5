/* Lets a long request in with one token, preempts it at once, and serves everybody else first: it counts as
 * let in, and gets nothing.
 * watch: quality.starves_nobody
 * examined: lost; says: starves
 * trusted: nothing
 */
//reference policy_learner right_policy
#include <stdint.h>
#include <string.h>

static bool is_long(const struct policy_request *r) {
    return r->prompt_tokens > 200 && r->generated_tokens == 0;
}

/* The right plan for the short ones. The long one gets a single token when it waits and a position and a block
 * are left, and is preempted when it runs. */
static int attack(void *s, const struct policy_view *v, struct policy_plan *p, struct err *e) {
    static struct policy_request waiting[600], running[600];
    struct policy_view less = *v;
    size_t w = 0, r = 0, lone = v->n_waiting;
    for (size_t i = 0; i < v->n_waiting; i++)
        if (is_long(&v->waiting[i]))
            lone = i;
        else
            waiting[w++] = v->waiting[i];
    for (size_t i = 0; i < v->n_running; i++)
        if (!is_long(&v->running[i])) running[r++] = v->running[i];
    bool nobody_else = w + r == 0;
    if (nobody_else) return right_policy()->plan(s, v, p, e);
    p->validity = POLICY_ONE_ITERATION;
    if (r < v->n_running) { /* the long one runs: it goes, and those that run go on */
        less.waiting = waiting, less.n_waiting = 0, less.running = running, less.n_running = r;
        int rc = r ? right_policy()->plan(s, &less, p, e) : 0;
        for (size_t i = 0; i < v->n_running; i++)
            if (is_long(&v->running[i])) { /* preemptions come first */
                memmove(p->actions + 1, p->actions, p->n_actions++ * sizeof *p->actions);
                p->actions[0] = (struct policy_action){POLICY_PREEMPT, v->running[i].id, 0, NULL};
            }
        p->validity = POLICY_ONE_ITERATION;
        return rc;
    }
    less.waiting = waiting, less.n_waiting = w, less.running = running, less.n_running = r;
    bool room = lone < v->n_waiting && v->free_kv_blocks > 20 && v->max_running > (int32_t)r + 4;
    if (room) less.free_kv_blocks -= 1, less.max_running -= 1, less.token_budget -= 1;
    if (!room && lone < v->n_waiting) less.n_waiting = 0; /* nobody is let in past it */
    if (less.n_waiting + r == 0) return right_policy()->plan(s, v, p, e);
    int rc = right_policy()->plan(s, &less, p, e);
    if (room && !rc) {
        p->actions[p->n_actions++] = (struct policy_action){POLICY_RUN, v->waiting[lone].id, 1, NULL};
        p->validity = POLICY_ONE_ITERATION;
    }
    return rc;
}

const struct policy_ops *policy_learner(void) {
    static struct policy_ops ops;
    ops = *right_policy();
    ops.plan = attack;
    return &ops;
}
