/* Reads the view of an earlier call, which is gone.
 * watch: quality.keeps_rules
 * examined: lost; says: policy|plan
 * trusted: nothing
 */
//reference policy_learner right_policy
#include <stdint.h>

static int attack(void *s, const struct policy_view *v, struct policy_plan *p, struct err *e) {
    static const struct policy_request *first;
    if (!first && v->n_waiting > 0) first = v->waiting;
    if (v->n_running == 0 && v->n_waiting > 0) {
        p->actions[p->n_actions++] = (struct policy_action){POLICY_RUN, first[0].id, 1, NULL};
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
