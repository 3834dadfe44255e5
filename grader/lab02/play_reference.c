/* play_reference.c: the course's own policies, for comparison. The file is the solution's, compiled
 * once more under other names: with IMPL=labs, policy_learner in this program is the learner's
 * code, which must never run here. */
#define policy_learner       lab02_reference_learner
#define policy_learner_batch lab02_reference_learner_batch
#include "lab02/play.h"

#include "../../solutions/02_queue_sim/policy.c"
