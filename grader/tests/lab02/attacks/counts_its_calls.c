/* Equal views, but every other plan is valid for one iteration only.
 * watch: safety.same_plan
 * examined: lost; says: two different plans
 * trusted: nothing
 */
//reference policy_learner right_policy
#include <stdint.h>

static int attack(void *s, const struct policy_view *v, struct policy_plan *p, struct err *e) {
    static int n;
    int rc = right_policy()->plan(s, v, p, e);
    if (n++ % 2) p->validity = POLICY_ONE_ITERATION;
    return rc;
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
