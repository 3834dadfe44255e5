/* point.h: operating points, the knee, and the highest load within limits. Lab 02 writes this
 * interface: analysis.c measures one load, capacity.c compares and searches loads. `servelab sim
 * run` and `servelab sim sweep` run the very same files.
 *
 * An operating point is one measured load. Every request that arrived stays in every denominator:
 * one that was shed, cut short or failed is an observation of +infinity, so that refusing load
 * never makes a point look faster.
 *
 * These are definitions: two programs written from this text give equal integers and booleans, and
 * doubles equal but for their last bits. A window [from, to) holds its first instant and not its
 * last; its length in seconds is (to - from) / 1e9. All times are in nanoseconds of one clock,
 * which begins at 0.
 */
#ifndef SERVELAB_OBJECTIVE_POINT_H
#define SERVELAB_OBJECTIVE_POINT_H

#include "base/err.h"
#include "objective/percentile.h"
#include "objective/slo.h"

/* ---- one request, as the run recorded it ----
 *
 * Every request of a list has ended. Times are in order, as far as there are any: arrival <=
 * admitted <= first_token <= end. Equal ones are no mistake.
 */

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
    int32_t output_tokens;  /* generated, 0 or more */
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

/* The intervals of one request; -1 where one is absent: where one of its ends is (-1), and
 *   queue_delay  admitted - arrival
 *   ttft         first_token - arrival
 *   tpot         (end - first_token) / (output_tokens - 1), rounded to nearest (interval_divide);
 *                also absent under two tokens, and unless `end` is POINT_DONE
 *   e2e          end - arrival; also absent unless `end` is POINT_DONE
 * A request that was cut short is done: it has all four. One that was refused or failed keeps a
 * queue delay and a TTFT if it got that far. */
struct point_intervals {
    int64_t queue_delay_ns, ttft_ns, tpot_ns, e2e_ns;
};
void point_intervals(const struct point_request *r, struct point_intervals *out);

/* Limits, strict: an interval meets one that it is below. INT64_MAX is no limit, which anything
 * meets. One request is within them when it meets all three; a limit on an absent TPOT doesn't
 * apply, a limit on an absent TTFT is missed. */
struct point_limits {
    int64_t ttft_below_ns, tpot_below_ns, e2e_below_ns;
};

struct operating_point {
    double offered_rps; /* requests / window */
    int64_t requests;   /* that arrived within the window: the population of all that follows
                           but throughput_rps and mean_in_system */
    int64_t complete, shed, truncated, broken; /* by class; they add up to requests */
    int64_t good;                              /* complete and within the limits */
    double throughput_rps;  /* complete requests that ended within the window, whenever they
                               arrived, / window */
    double good_rps;        /* good / window */
    double mean_latency_ns; /* mean e2e of the complete ones; NaN when there are none */
    double mean_in_system;  /* time average over the window of the number in the system: each
                               request of the list, whatever became of it, is in the system from
                               its arrival to its end, and counts with the part of that within the
                               window */
    struct percentile queue_delay_p99, ttft_p50, ttft_p99, tpot_p50, tpot_p99, e2e_p50, e2e_p99;
    bool stable; /* see point_stable */
};

/* Measures the window [from_ns, to_ns). list[0..n) is in any order and isn't changed; n may be 0,
 * and list NULL then. The percentiles are over complete requests of the population; every other
 * request of it counts as failed (percentile.h), in all seven. A complete request whose interval is
 * absent (a TPOT under two tokens) is left out of that interval's percentiles. from_ns < to_ns. 0,
 * or -1 with *e when memory is out. */
int point_measure(const struct point_request *list, size_t n, int64_t from_ns, int64_t to_ns,
                  const struct point_limits *limits, struct operating_point *out, struct err *e);

/* Does the queue keep up over the second half [mid, to) of the window, mid = from + (to - from) /
 * 2, divided in integers? Requests of the whole list count, whenever they arrived.
 *
 * Yes when requests that end there, in whatever way, are at least 98 % of those that arrive there
 * (also when none does). Otherwise the number in the system is read at POINT_SAMPLES instants t[i]
 * = mid + (to - mid) * i / POINT_SAMPLES, i = 0 .. POINT_SAMPLES - 1, the division in integers:
 * arrivals at or before t[i] minus ends at or before t[i]. A straight line is fitted to the points
 * (i, number) by least squares, with slope b and standard error of the slope s: yes when b <= 3 s.
 *   b = Sxy / Sxx,  s^2 = (Syy - Sxy^2 / Sxx) / ((POINT_SAMPLES - 2) Sxx),
 *   Sxy = sum of (x - mean x)(y - mean y), and so on.
 * So a line that doesn't rise is stable, and one that rises without any error isn't. Doubles can
 * miss the second: with POINT_SAMPLES times each sum all is in whole numbers (of up to 128 bits).
 */
enum { POINT_SAMPLES = 32 };
bool point_stable(const struct point_request *list, size_t n, int64_t from_ns, int64_t to_ns);

/* ---- capacity.c ---- */

/* Does the point hold the limits with a stable queue? ttft_below_ns is held against ttft_p99,
 * tpot_below_ns against tpot_p99, e2e_below_ns against e2e_p99. In this order:
 *   not computable  when the point has no request
 *   missed          when the queue isn't stable, or one of the three percentiles is infinite, or is
 *                   present and not below its limit. INT64_MAX is no limit, but an infinite
 *                   percentile misses even that
 *   not computable  when TTFT's percentile is absent
 *   met             otherwise: an absent TPOT or e2e percentile misses nothing */
enum slo_answer point_verdict(const struct operating_point *p, const struct point_limits *limits);

/* Several points, points[0..n), in any order of load; n may be 0.
 *
 * The knee: index of the point of greatest power, throughput_rps / mean_latency_ns (Kleinrock
 * 1979), among those whose mean latency is a number above 0; of equal ones the first. n when there
 * is none. */
size_t curve_knee(const struct operating_point *points, size_t n);

/* Saturation: index of the stable point of the highest throughput_rps; of equal ones the first. n
 * when none is stable. */
size_t curve_saturation(const struct operating_point *points, size_t n);

/* Where points[at] lies, at < n. Overloaded: its offered_rps is above that of the point of
 * saturation, or it isn't stable. Otherwise underloaded: its offered_rps is below that of the knee.
 * Otherwise the knee region, also when there is no knee. */
enum curve_region { REGION_UNDERLOADED, REGION_KNEE, REGION_OVERLOADED };
enum curve_region curve_region(const struct operating_point *points, size_t n, size_t at);

/* Simulates or measures one load and fills *out. 0, or -1 with *e. Costly: every call is a run. */
typedef int point_probe_fn(void *ctx, double offered_rps, struct operating_point *out,
                           struct err *e);

struct capacity {
    bool found;                /* false: not even lo_rps meets the limits */
    bool at_top;               /* hi_rps itself meets them: the true answer may be higher */
    double rps;                /* the highest load probed that met the limits; 0: none did */
    struct operating_point at; /* the point measured there; if not found, the one at lo_rps */
    int probes;                /* how often probe was called */
};

/* The highest offered load within the limits, to a relative resolution. A load meets them when
 * point_verdict says SLO_MET of its point; not computable is not met. Between lo_rps and hi_rps the
 * verdict is taken to change at most once, from met to not met.
 *
 * Then one of three things is true of *out: not found, lo_rps was probed and didn't meet; at_top,
 * and hi_rps was probed and met, rps is hi_rps; or rps was probed and met, and a load above rps and
 * at most rps * (1 + resolution) was probed and didn't.
 *
 * Every probe lies within [lo_rps, hi_rps], none is at a load probed before, and there are at most
 * CAPACITY_MAX_PROBES, for lo_rps = 1e-300 and hi_rps = 1e300 too. Nothing is probed after *out is
 * known. 0, or -1: when a probe fails (*e is the probe's, and no other is called), and before any
 * probe when the arguments make no sense: not 0 < lo_rps < hi_rps, or resolution below 0.001, or
 * one of the three NaN or infinite (*e names it in `field`: "lo_rps", "hi_rps", "resolution"). Of
 * *out only probes is meaningful then. */
enum { CAPACITY_MAX_PROBES = 40 };
int capacity_find(point_probe_fn *probe, void *ctx, double lo_rps, double hi_rps, double resolution,
                  const struct point_limits *limits, struct capacity *out, struct err *e);

#endif
