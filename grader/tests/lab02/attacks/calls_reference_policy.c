/* Hands out the grader's own policy.
 * examined: refused; says: reference_learner
 * trusted: nothing
 */
#include "sched/policy.h"

const struct policy_ops *reference_learner(void);

const struct policy_ops *policy_learner(void) {
    return reference_learner();
}
const struct policy_ops *policy_learner_batch(void) {
    return reference_learner();
}
