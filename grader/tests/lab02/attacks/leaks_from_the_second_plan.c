/* Leaks from the second plan of a state on.
 * watch: safety.no_leak
 * examined: lost; says: policy_learner in policy.c
 * trusted: nothing
 */
//reference policy_learner right
#include <stdlib.h>

struct state {
    void *inner;
    int plans;
};

static void *create(const char *arg, struct err *e) {
    struct state *s = calloc(1, sizeof *s);
    if (s) s->inner = right()->create(arg, e);
    if (s && s->inner) return s;
    free(s);
    return NULL;
}

static void destroy(void *state) {
    struct state *s = state;
    right()->destroy(s->inner);
    free(s);
}

static int plan(void *state, const struct policy_view *v, struct policy_plan *p, struct err *e) {
    struct state *s = state;
    static void *volatile kept;
    if (s->plans++ > 0) kept = malloc(64);
    return right()->plan(s->inner, v, p, e);
}

const struct policy_ops *policy_learner(void) {
    static const struct policy_ops ops = {"learner", create, plan, destroy};
    return &ops;
}
