/* Hands out a reference policy by its name.
 * examined: refused; says: policy_find
 * trusted: nothing
 */
#include "sched/policy.h"

const struct policy_ops *policy_find(const char *text, const char **arg, struct err *e);

const struct policy_ops *policy_learner(void) {
    const char *arg;
    return policy_find("chunked", &arg, NULL);
}
const struct policy_ops *policy_learner_batch(void) {
    return policy_learner();
}
