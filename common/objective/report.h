/* report.h: the objective report of one operating point and of a sweep. Lab 04 writes this
 * interface (report.c).
 *
 * A report point is one operating point measured from request records, held against an objective;
 * point.h's struct operating_point is the simulator's, without records, quality or a price. The
 * report shows every point, valid or not, what made it invalid, the value of the objective, and the
 * diagnostics apart from it: occupancy or kernel time explain a result, they are none.
 */
#ifndef SERVELAB_OBJECTIVE_REPORT_H
#define SERVELAB_OBJECTIVE_REPORT_H

#include "objective/slo.h"

struct report_point {
    double offered_rps;       /* NaN for a closed loop */
    int64_t start_ns, end_ns; /* the measured interval, on one clock */
    int64_t attempts;         /* every try, retries included */
    struct slo_counts counts;
    int64_t good;
    int64_t by_reason[REASON_N]; /* user requests by completion reason */
    struct percentile
        latency[OBJECTIVE_MAX_LIMITS]; /* failures as +infinity; beside o->latency[i] */
    struct percentile
        latency_of_ok[OBJECTIVE_MAX_LIMITS]; /* over successes alone, printed beside the former */
    bool stable;                             /* point.h: point_stable */
};

/* Builds a point from records: groups attempts by request id, classifies, takes percentiles.
 * records[0..n) may come in any order. The interval [start_ns, end_ns) is on the client's clock; a
 * request counts where it was submitted, and requests that straddle an end are reported by the
 * caller. */
int report_measure(const struct objective *o, const struct record *const *records, size_t n,
                   int64_t start_ns, int64_t end_ns, struct report_point *out, struct err *e);

/* Is the point valid: stable, and every limit met. */
enum slo_answer report_verdict(const struct objective *o, const struct report_point *p);

/* Index of the point of greatest power (throughput over mean latency: Kleinrock 1979), of the
 * highest stable throughput, and of the best valid point; -1 when there is none. */
struct curve_regions {
    int knee, saturation, best_valid;
};
struct curve_regions report_regions(const struct objective *o, const struct report_point *points,
                                    size_t n);

#endif
