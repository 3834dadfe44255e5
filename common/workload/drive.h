/* drive.h: a workload run through one simulated server, to the end of both.
 *
 * The only place that knows how a closed loop and a server take turns: the server runs to the next
 * end of a request, that end may bring an earlier arrival than the ones known of, and only then is
 * the earliest arrival pushed.
 */
#ifndef SERVELAB_WORKLOAD_DRIVE_H
#define SERVELAB_WORKLOAD_DRIVE_H

#include "sim/sim.h"
#include "workload/workload.h"

/* 0, or -1 and *e. For a closed loop the `each` function of the server's configuration must call
 * workload_ended(w, o->completion_ns) for every outcome; for other workloads it may. */
int workload_drive(struct workload *w, struct sim *s, struct err *e);

#endif
