/* evidence_schedule.h: what can be computed again of how a run was made. `servelab load` draws its
 * arrivals from the seed, so that the run file and the records say the same thing twice. */
#ifndef SERVELAB_GRADER_LAB04_EVIDENCE_SCHEDULE_H
#define SERVELAB_GRADER_LAB04_EVIDENCE_SCHEDULE_H

#include "report/run_read.h"

/* Checks that the records are those of one run, one for each arrival that the run file's workload
 * and seed give, each at its time, and that the run file's median wait is theirs. Arrivals of a
 * trace or of a closed loop are not computed again: the first need a file that is not here, the
 * others follow the server. 0, or -1 and *e. */
int lab04_check_schedule(const struct report_run *run, struct err *e);

#endif
