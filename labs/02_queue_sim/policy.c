/* policy.c: who runs next (sched/policy.h has the rules). The same file runs in the simulator and
 * in the server.
 *
 * learner-batch:N  groups: whoever goes together shares an iteration's fixed cost
 * learner          continuous batching that looks at the cache before it admits: each iteration
 *                  decodes all that run and fills up with a piece of prefill
 *
 * Both refuse at once what can never run, so that its client needn't wait for the bad news. Neither
 * keeps anything in mind: the view says all, so equal views give equal plans.
 */
#include "sched/policy.h"
#include "base/lab_todo.h"

const struct policy_ops *policy_learner(void) {
    LAB_TODO("policy_learner");
}

const struct policy_ops *policy_learner_batch(void) {
    LAB_TODO("policy_learner_batch");
}
