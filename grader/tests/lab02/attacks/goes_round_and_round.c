/* Preempts the running request and admits it again, for ever.
 * watch: quality.keeps_rules
 * examined: lost; says: round and round
 * trusted: nothing
 */
//reference policy_learner right_policy
#include <stdint.h>

static int attack(void *s, const struct policy_view *v, struct policy_plan *p, struct err *e) {
    if (v->n_running > 0) {
        p->actions[p->n_actions++] =
            (struct policy_action){POLICY_PREEMPT, v->running[0].id, 0, NULL};
        return 0;
    }
    return right_policy()->plan(s, v, p, e);
}

static const struct policy_ops *wrap(int (*plan)(void *, const struct policy_view *,
                                                 struct policy_plan *, struct err *)) {
    static struct policy_ops ops;
    ops = *right_policy();
    ops.plan = plan;
    return &ops;
}

const struct policy_ops *policy_learner(void) {
    return wrap(attack);
}
