/* point.h: operating points, the knee, and the highest load within limits. Lab 02 writes this
 * interface: analysis.c measures one load, capacity.c compares and searches loads. `servelab sim
 * run` and `servelab sim sweep` use the same files.
 *
 * An operating point is one measured load. Every request that arrived is in every denominator: one
 * that was shed, truncated or failed is an observation of +infinity, so refusing load never makes a
 * point look faster.
 *
 * These are definitions: two programs written from this text give equal integers and booleans, and
 * doubles that differ at most in their last bits. A window [from, to) contains from and not to; its
 * length in seconds is (to - from) / 1e9. All times are nanoseconds of one clock that begins at 0.
 */
#ifndef SERVELAB_OBJECTIVE_POINT_H
#define SERVELAB_OBJECTIVE_POINT_H

#include "base/err.h"
#include "objective/percentile.h"
#include "objective/slo.h"

/* ---- one request, as the run recorded it ----
 *
 * Every request of a list has ended. arrival <= admitted <= first_token <= end, as far as they are
 * there; equal times are allowed.
 */

enum point_end {
    POINT_DONE,     /* the server sent its last token */
    POINT_REJECTED, /* refused by the policy, a full queue, or a KV cache that is too small for it
                     */
    POINT_FAILED    /* the server failed while it ran; tokens may have been sent before */
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

/* The class of one request. Exactly one applies; in the order shed, broken, truncated, complete. */
enum point_class {
    POINT_COMPLETE,  /* done, with all the tokens it wanted */
    POINT_SHED,      /* refused */
    POINT_TRUNCATED, /* done, with fewer tokens than it wanted */
    POINT_BROKEN     /* failed */
};
enum point_class point_classify(const struct point_request *r);

/* The intervals of one request; -1 if absent. Each is absent if one of its ends is -1, and
 *   queue_delay  admitted - arrival
 *   ttft         first_token - arrival
 *   tpot         (end - first_token) / (output_tokens - 1), rounded to nearest (interval_divide);
 *                also absent with fewer than two tokens, and unless `end` is POINT_DONE
 *   e2e          end - arrival; also absent unless `end` is POINT_DONE
 * A truncated request is done: it has all four. A refused or failed request has a queue delay and a
 * TTFT if it got that far. */
struct point_intervals {
    int64_t queue_delay_ns, ttft_ns, tpot_ns, e2e_ns;
};
void point_intervals(const struct point_request *r, struct point_intervals *out);

/* Strict limits: an interval meets a limit if it is below it. INT64_MAX: no limit; every interval
 * meets it. A request is within the limits if it meets all three. A limit on an absent TPOT does
 * not apply; a limit on an absent TTFT is missed. */
struct point_limits {
    int64_t ttft_below_ns, tpot_below_ns, e2e_below_ns;
};

struct operating_point {
    double offered_rps; /* requests / window */
    int64_t requests;   /* that arrived within the window: the population of everything below except
                           throughput_rps and mean_in_system */
    int64_t complete, shed, truncated, broken; /* by class; their sum is requests */
    int64_t good;                              /* complete and within the limits */
    double throughput_rps; /* complete requests that ended within the window, whenever they arrived,
                              / window */
    double good_rps;       /* good / window */
    double mean_latency_ns; /* mean e2e of complete requests; NaN if there are none */
    double mean_in_system;  /* time average over the window of the number of requests in the system.
                               Each request of the list, whatever its class, is in the system from
                               its arrival to its end */
    struct percentile queue_delay_p99, ttft_p50, ttft_p99, tpot_p50, tpot_p99, e2e_p50, e2e_p99;
    bool stable; /* point_stable, and `kept up`: the requests that ended within the window, in any
                    way and whenever they arrived, are at least 90 % of those that arrived within
                    it. An early burst leaves a queue that no longer grows: without the second rule
                    it would pass for a load that the server can take */
};

/* Measures the window [from_ns, to_ns), from_ns < to_ns. list[0..n) is in any order and is not
 * changed; NULL if n is 0. The percentiles are over the complete requests of the population; its
 * other requests count as failed (percentile.h), in all seven. A complete request without an
 * interval (a TPOT with fewer than two tokens) is left out of that interval's percentiles. 0, or -1
 * with *e when memory is out. */
int point_measure(const struct point_request *list, size_t n, int64_t from_ns, int64_t to_ns,
                  const struct point_limits *limits, struct operating_point *out, struct err *e);

/* Does the queue keep up over the second half [mid, to) of the window? mid = from + (to - from) /
 * 2, an integer division. Requests of the whole list count, whenever they arrived.
 *
 * Yes if the requests that end in it, in any way, are at least 98 % of those that arrive in it
 * (also if none does). Otherwise the number in the system is read at POINT_SAMPLES instants t[i] =
 * mid + (to - mid) * i / POINT_SAMPLES, i = 0 .. POINT_SAMPLES - 1, with integer division: arrivals
 * at or before t[i] minus ends at or before t[i]. A straight line is fitted to the points (i,
 * number) by least squares, with slope b and standard error of the slope s. Yes if b <= 3 s.
 *   b = Sxy / Sxx,  s^2 = (Syy - Sxy^2 / Sxx) / ((POINT_SAMPLES - 2) Sxx),
 *   Sxy = sum of (x - mean x)(y - mean y), and so on.
 * So a line that does not rise is stable, and one that rises without any error is not. Doubles can
 * miss the second case. Multiply each sum by POINT_SAMPLES, and everything is a whole number; use
 * `__int128`.
 */
enum { POINT_SAMPLES = 32 };
bool point_stable(const struct point_request *list, size_t n, int64_t from_ns, int64_t to_ns);

/* ---- capacity.c ---- */

/* Does the point keep the limits with a stable queue? ttft_below_ns is compared with ttft_p99,
 * tpot_below_ns with tpot_p99, e2e_below_ns with e2e_p99. In this order:
 *   not computable  if the point has no request
 *   missed          if the queue is not stable, or one of the three percentiles is infinite (also
 *                   if its limit is INT64_MAX), or is present and not below its limit
 *   not computable  if TTFT's percentile is absent
 *   met             otherwise; an absent TPOT or e2e percentile misses no limit */
enum slo_answer point_verdict(const struct operating_point *p, const struct point_limits *limits);

/* Several points, points[0..n), in any order of load; n may be 0.
 *
 * The knee: index of the point of greatest power, throughput_rps / mean_latency_ns (Kleinrock
 * 1979), among those whose mean latency is a number above 0; of equal ones the first. n if there is
 * none.
 */
size_t curve_knee(const struct operating_point *points, size_t n);

/* Saturation: index of the stable point of the highest throughput_rps; of equal ones the first. n
 * if none is stable. */
size_t curve_saturation(const struct operating_point *points, size_t n);

/* The region of points[at], at < n. Overloaded: its offered_rps is above that of the saturation
 * point, or it is not stable. Otherwise underloaded: its offered_rps is below that of the knee.
 * Otherwise the knee region, also if there is no knee. */
enum curve_region { REGION_UNDERLOADED, REGION_KNEE, REGION_OVERLOADED };
enum curve_region curve_region(const struct operating_point *points, size_t n, size_t at);

/* Simulates or measures one load and fills *out. 0, or -1 with *e. Each call is a whole run and
 * takes long. */
typedef int point_probe_fn(void *ctx, double offered_rps, struct operating_point *out,
                           struct err *e);

struct capacity {
    bool found;                /* false: not even lo_rps meets the limits */
    bool at_top;               /* hi_rps meets them: the true answer may be higher */
    double rps;                /* the highest probed load that met the limits; 0: none */
    struct operating_point at; /* the point measured there; if not found, the one at lo_rps */
    int probes;                /* number of calls of probe */
};

/* The highest offered load within the limits, to a relative resolution. A load meets them if
 * point_verdict is SLO_MET for its point; not computable is not met. Between lo_rps and hi_rps the
 * verdict is assumed to change at most once, from met to not met.
 *
 * After success *out is one of: not found, and lo_rps was probed and did not meet; at_top, and
 * hi_rps was probed and met, and rps is hi_rps; or rps was probed and met, and a load above rps and
 * at most rps * (1 + resolution) was probed and did not.
 *
 * Every probe is within [lo_rps, hi_rps] and at a new load; there are at most CAPACITY_MAX_PROBES,
 * also for lo_rps = 1e-300 and hi_rps = 1e300, and none after *out is known. 0, or -1: if a probe
 * fails (*e is the probe's; no other is called); or, before any probe, if the arguments are
 * invalid: not 0 < lo_rps < hi_rps, resolution below 0.001, or one of the three NaN or infinite (*e
 * names it in `field`: "lo_rps", "hi_rps", "resolution"). Then only out->probes is valid.
 */
enum { CAPACITY_MAX_PROBES = 40 };
int capacity_find(point_probe_fn *probe, void *ctx, double lo_rps, double hi_rps, double resolution,
                  const struct point_limits *limits, struct capacity *out, struct err *e);

#endif
