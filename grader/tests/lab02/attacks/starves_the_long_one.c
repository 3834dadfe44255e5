/* Lets short prompts pass the long one for ever.
 * watch: quality.starves_nobody
 * examined: lost; says: starves
 * trusted: nothing
 */
//reference policy_learner right_policy
#include <stdint.h>

static int attack(void *s, const struct policy_view *v, struct policy_plan *p, struct err *e) {
    static struct policy_request kept[600];
    size_t n = 0;
    for (size_t i = 0; i < v->n_waiting; i++)
        if (v->waiting[i].prompt_tokens < 200) kept[n++] = v->waiting[i];
    if (n > 0) {
        struct policy_view less = *v;
        less.waiting = kept;
        less.n_waiting = n;
        return right_policy()->plan(s, &less, p, e);
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
