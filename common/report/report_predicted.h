/* report_predicted.h: reads a predicted curve, the sweep.json of `servelab sim sweep`, to be drawn
 * under the measured one. */
#ifndef SERVELAB_REPORT_REPORT_PREDICTED_H
#define SERVELAB_REPORT_REPORT_PREDICTED_H

#include "base/err.h"

#include <cjson/cJSON.h>

/* {"machine", "policy", "points"} of the sweep's first policy, a new tree. A point has
 * rates.offered_rps and the percentiles of latency.client_ttft and latency.e2e, as a report's point
 * has them. NULL and *e. */
cJSON *report_predicted_read(const char *path, struct err *e);

#endif
