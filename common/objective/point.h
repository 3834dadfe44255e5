/* point.h: operating points, the knee, and the highest load within limits. Lab 02 writes this
 * interface: analysis.c measures one load, capacity.c compares and searches loads. `servelab sim
 * run` and `servelab sim sweep` run the very same files.
 *
 * An operating point is one measured load. Every request that arrived stays in every denominator:
 * one that was shed, cut short or failed is an observation of +infinity, so that refusing load
 * never makes a point look faster.
 */
#ifndef SERVELAB_OBJECTIVE_POINT_H
#define SERVELAB_OBJECTIVE_POINT_H

#include "base/err.h"
#include "objective/percentile.h"
#include "objective/slo.h"

/* ---- one request, as the run recorded it ---- */

enum point_end {
    POINT_DONE,     /* the server sent its last token */
    POINT_REJECTED, /* refused: by the policy, a full queue, or a cache it can't fit into */
    POINT_FAILED    /* the server broke while it ran; tokens may have come before */
};

struct point_request {
    int64_t arrival_ns;
    int64_t admitted_ns;    /* first admission; -1: never */
    int64_t first_token_ns; /* -1: none */
    int64_t end_ns;         /* last token, refusal or failure */
    int32_t output_tokens;  /* generated */
    int32_t wanted_tokens;  /* what it would have generated without max_output_tokens */
    enum point_end end;
};

/* ---- analysis.c ---- */

/* What became of one request. Exactly one applies; refused comes before failed, failed before
 * truncated. */
enum point_class {
    POINT_COMPLETE,  /* done, with all the tokens it wanted */
    POINT_SHED,      /* refused */
    POINT_TRUNCATED, /* done, but with fewer tokens than it wanted */
    POINT_BROKEN     /* failed */
};
enum point_class point_classify(const struct point_request *r);

/* The intervals of one request; -1 where one is absent.
 *   queue_delay  admitted - arrival
 *   ttft         first_token - arrival
 *   tpot         (end - first_token) / (output_tokens - 1), rounded to nearest (interval_divide);
 *                absent under two tokens, or unless the request is done
 *   e2e          end - arrival; absent unless the request is done */
struct point_intervals {
    int64_t queue_delay_ns, ttft_ns, tpot_ns, e2e_ns;
};
void point_intervals(const struct point_request *r, struct point_intervals *out);

/* Per-request limits, strict; INT64_MAX where there is none. A limit on an absent TPOT does not
 * apply. */
struct point_limits {
    int64_t ttft_below_ns, tpot_below_ns, e2e_below_ns;
};

struct operating_point {
    double offered_rps; /* requests / window */
    int64_t requests;   /* that arrived within the window: the population of all that follows
                           but throughput_rps */
    int64_t complete, shed, truncated, broken; /* add up to requests */
    int64_t good;                              /* complete and within the limits */
    double throughput_rps;  /* complete requests that ended within the window, whenever they
                               arrived, / window */
    double good_rps;        /* good / window */
    double mean_latency_ns; /* e2e of the complete ones; NaN when there are none */
    double mean_in_system;  /* time average within the window of the requests in the system */
    struct percentile queue_delay_p99, ttft_p50, ttft_p99, tpot_p50, tpot_p99, e2e_p50, e2e_p99;
    bool stable; /* see point_stable */
};

/* Measures the window [from_ns, to_ns). list[0..n) is in any order and isn't changed. The
 * percentiles are over complete requests of the population; every other request of it counts as
 * failed (percentile.h). TPOT's population leaves out complete requests of fewer than two tokens.
 * from_ns < to_ns. 0, or -1 with *e when memory is out. */
int point_measure(const struct point_request *list, size_t n, int64_t from_ns, int64_t to_ns,
                  const struct point_limits *limits, struct operating_point *out, struct err *e);

/* Does the queue keep up over the second half [mid, to) of the window, mid = from + (to - from) /
 * 2? Yes when requests that end there (in whatever way) are at least 98 % of those that arrive
 * there. Otherwise the number in the system is read at POINT_SAMPLES instants mid + (to - mid) * i
 * / POINT_SAMPLES, i = 0 .. POINT_SAMPLES - 1 (arrivals at or before t minus ends at or before t;
 * the division in integers), and a straight line is fitted by least squares: yes when the rise of
 * the line is at most three times its standard error. */
enum { POINT_SAMPLES = 32 };
bool point_stable(const struct point_request *list, size_t n, int64_t from_ns, int64_t to_ns);

/* ---- capacity.c ---- */

/* Does the point hold both population limits, p99 TTFT and p99 TPOT, with a stable queue? Missed
 * when any part is missed; not computable when the point has no request, or TTFT's percentile is
 * absent; an absent TPOT percentile is no limit. Strict. INT64_MAX is no limit, but for an infinite
 * percentile, which misses every one. e2e_below_ns is likewise held against e2e_p99. */
enum slo_answer point_verdict(const struct operating_point *p, const struct point_limits *limits);

/* The knee: index of the point of greatest power, throughput_rps / mean_latency_ns (Kleinrock
 * 1979), among those with a latency; of equal ones the first. n when there is none. */
size_t curve_knee(const struct operating_point *points, size_t n);

/* Saturation: index of the stable point of the highest throughput_rps; of equal ones the first. n
 * when none is stable. */
size_t curve_saturation(const struct operating_point *points, size_t n);

/* Underloaded: offered load below the knee's. Overloaded: above saturation's, or not stable.
 * Otherwise the knee region. Overloaded comes first where both apply. */
enum curve_region { REGION_UNDERLOADED, REGION_KNEE, REGION_OVERLOADED };
enum curve_region curve_region(const struct operating_point *points, size_t n, size_t at);

/* Simulates or measures one load and fills *out. 0, or -1 with *e. Costly: every call is a run. */
typedef int point_probe_fn(void *ctx, double offered_rps, struct operating_point *out,
                           struct err *e);

struct capacity {
    bool found;                /* false: not even lo_rps meets the limits */
    bool at_top;               /* hi_rps itself meets them: the true answer may be higher */
    double rps;                /* the highest load that met the limits */
    struct operating_point at; /* the point measured there */
    int probes;                /* how often probe was called */
};

/* The highest offered load within the limits (point_verdict), to a relative resolution: *out's rps
 * met them, and rps * (1 + resolution) or something below it was measured not to. Between lo_rps
 * and hi_rps the verdict is taken to change once. 0 < lo_rps < hi_rps, resolution >= 0.001. At most
 * CAPACITY_MAX_PROBES calls. 0, or -1 with *e when a probe fails or the arguments make no sense. */
enum { CAPACITY_MAX_PROBES = 40 };
int capacity_find(point_probe_fn *probe, void *ctx, double lo_rps, double hi_rps, double resolution,
                  const struct point_limits *limits, struct capacity *out, struct err *e);

#endif
