/* reference_run.c: the reference's files of lab 02, and the reader of runs. See reference.h. */
#include "lab04/reference.h"

#include "../../common/report/run_read.c"
#include "../../solutions/02_queue_sim/analysis.c"
#include "../../solutions/02_queue_sim/capacity.c"
