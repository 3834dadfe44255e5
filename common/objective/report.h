/* report.h: the objective report of one operating point and of a sweep. Lab 04 writes this
 * interface (report.c).
 *
 * A report point is one operating point measured from request records and compared with an
 * objective. (struct operating_point in point.h is the simulator's: without records, quality and
 * price.) The report shows every point, valid or not, the reason if it is invalid, the objective's
 * value, and separately the diagnostics: occupancy or kernel time explain a result but are not part
 * of it.
 */
#ifndef SERVELAB_OBJECTIVE_REPORT_H
#define SERVELAB_OBJECTIVE_REPORT_H

#include "objective/slo.h"

struct report_point {
    double offered_rps;       /* NaN for a closed loop */
    int64_t start_ns, end_ns; /* the measured interval, on one clock */
    int64_t attempts;         /* all tries, retries included */
    struct slo_counts counts;
    int64_t good;
    int64_t by_reason[REASON_N];                     /* user requests by completion reason */
    struct percentile latency[OBJECTIVE_MAX_LIMITS]; /* of o->latency[i]; failures are +infinity */
    struct percentile
        latency_of_ok[OBJECTIVE_MAX_LIMITS]; /* the same over successes alone, printed beside it */
    bool stable;                             /* point.h: point_stable */
};

/* Builds a point from records, in any order: groups attempts by request id, classifies, takes
 * percentiles. The interval [start_ns, end_ns) is on the client's clock. A request counts if it was
 * submitted in it; the caller reports requests that cross an end. */
int report_measure(const struct objective *o, const struct record *const *records, size_t n,
                   int64_t start_ns, int64_t end_ns, struct report_point *out, struct err *e);

/* Is the point valid, that is, stable and within every limit? */
enum slo_answer report_verdict(const struct objective *o, const struct report_point *p);

/* Index of the point of greatest power (throughput over mean latency: Kleinrock 1979), of the
 * highest stable throughput, and of the best valid point; -1 when there is none. */
struct curve_regions {
    int knee, saturation, best_valid;
};
struct curve_regions report_regions(const struct objective *o, const struct report_point *points,
                                    size_t n);

#endif
