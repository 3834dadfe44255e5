/* Jumps back into an earlier plan instead of returning.
 * watch: quality.keeps_rules
 * examined: refused; says: setjmp
 * trusted: nothing
 */
//reference policy_learner right_policy
#include <setjmp.h>
#include <stdint.h>

static jmp_buf back;

static int attack(void *s, const struct policy_view *v, struct policy_plan *p, struct err *e) {
    static int n;
    if (++n == 2 && setjmp(back) == 0) n = 2;
    if (n > 2) longjmp(back, 1);
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
