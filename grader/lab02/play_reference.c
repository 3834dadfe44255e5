/* play_reference.c: the course's own policies, for comparison. Compiles the solution's file once
 * more under other names: with IMPL=labs, policy_learner in this program is the learner's code,
 * which must never run in the grader. */
#define policy_learner       lab02_reference_learner
#define policy_learner_batch lab02_reference_learner_batch
#include "lab02/play.h"

#include "../../solutions/02_queue_sim/policy.c"
