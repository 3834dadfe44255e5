/* report_tree.h: the objective report as one JSON tree, schema "servelab.report.v1"
 * (report.schema.json). Markdown and HTML are printed from this tree, so all three say the same.
 *
 * A number that is not there is null, and a sentence beside it says why. Times are whole
 * nanoseconds ("_ns"); a percentile that is among the failed requests is null with "infinite":
 * true.
 */
#ifndef SERVELAB_REPORT_REPORT_TREE_H
#define SERVELAB_REPORT_REPORT_TREE_H

#include "report/run_read.h"

#define REPORT_SCHEMA "servelab.report.v1"

struct report_input {
    const struct objective *o;
    const cJSON *objective;            /* as it was read */
    const struct report_run *runs;     /* (n) */
    const struct report_point *points; /* (n), in the order of the runs */
    size_t n;
    const cJSON *predicted; /* of report_predicted.h; NULL: none */
    double attainment;      /* 0..1: the share of good requests that rate_at_attainment asks for */
};

/* A new tree. NULL and *e: runs of different kinds (measured, paced, simulated, or paced at two
 * paces) are no one curve, or memory is out. */
cJSON *report_tree(const struct report_input *in, struct err *e);

/* What the other files of the report use. */

/* Adds the number, or null if it is not finite. */
void report_add_real(cJSON *o, const char *key, double v);
/* Adds the integer, or null if it is below 0. */
void report_add_count(cJSON *o, const char *key, int64_t n);

/* report_latency.c: {"client_ttft": {"p50": {...}, "p99": {...}}, ...} of a point's population,
 * with confidence intervals; and the requests at the median and at p99 of e2e. NULL when memory is
 * out.
 */
cJSON *report_latency(const struct report_run *run, const struct report_point *p);
cJSON *report_timelines(const struct report_run *run, const struct report_point *p);

/* report_parts.c: [{"part", "answer", "text"}]: each part of the verdict. */
cJSON *report_parts(const struct objective *o, const struct report_point *p);
/* Does the objective state a limit of the whole population? Without one it is met wherever the
 * queue keeps up, and a report says so. */
bool report_states_limit(const struct objective *o);

/* report_limits.c: what the measurement can't say: a list of sentences. */
cJSON *report_cannot_say(const struct report_input *in);

#endif
