/* Names requests that it has never seen.
 * watch: quality.keeps_rules
 * examined: lost; says: neither waits nor runs
 * trusted: nothing
 */
//reference policy_learner right_policy
#include <stdint.h>

static int attack(void *s, const struct policy_view *v, struct policy_plan *p, struct err *e) {
    p->actions[p->n_actions++] = (struct policy_action){POLICY_RUN, 4711, 1, NULL};
    (void)s, (void)v, (void)e;
    return 0;
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
