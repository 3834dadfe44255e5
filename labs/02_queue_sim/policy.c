/* policy.c: two scheduling policies, for the simulator and the server (sched/policy.h has the
 * rules).
 *
 * learner-batch:N  groups of up to N, which share an iteration's fixed cost
 * learner          continuous batching that looks at the cache before it admits: each iteration
 *                  decodes all running requests and fills up with a piece of prefill
 *
 * Both refuse a request that can never run at once, so that its client needn't wait. Neither keeps
 * state between plans: equal views give equal plans.
 */
#include "sched/policy.h"
#include "base/lab_todo.h"

const struct policy_ops *policy_learner(void) {
    LAB_TODO("policy_learner");
}

const struct policy_ops *policy_learner_batch(void) {
    LAB_TODO("policy_learner_batch");
}
