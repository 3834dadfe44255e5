/* create() gives nothing, so there is no policy.
 * examined: lost; says: no state
 * trusted: nothing
 */
//reference policy_learner right_policy
static void *nothing(const char *arg, struct err *e) {
    (void)arg;
    err_set(e, "no");
    return NULL;
}

const struct policy_ops *policy_learner(void) {
    static struct policy_ops ops;
    ops = *right_policy();
    ops.create = nothing;
    return &ops;
}
