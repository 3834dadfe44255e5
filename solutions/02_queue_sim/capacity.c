/* capacity.c: compares loads: the verdict at one, the knee and saturation of several, and the
 * highest load that meets the limits (objective/point.h has the rules).
 *
 * Each load is a costly run: the search needs as few as possible. Not here: measuring a load
 * (analysis.c).
 */
#include "objective/point.h"
// BEGIN SOLUTION
//| #include "base/lab_todo.h"

#include <math.h>

/* Does a percentile miss its limit? An absent one misses nothing. */
static bool misses(const struct percentile *p, int64_t below_ns) {
    if (!p->present) return false;
    return p->infinite || (below_ns != INT64_MAX && p->ns >= below_ns);
}
// END SOLUTION

enum slo_answer point_verdict(const struct operating_point *p, const struct point_limits *limits) {
    // BEGIN SOLUTION
    //| LAB_TODO("point_verdict");
    if (p->requests == 0) return SLO_NOT_COMPUTABLE;
    if (!p->stable || misses(&p->ttft_p99, limits->ttft_below_ns) ||
        misses(&p->tpot_p99, limits->tpot_below_ns) || misses(&p->e2e_p99, limits->e2e_below_ns))
        return SLO_MISSED;
    return p->ttft_p99.present ? SLO_MET : SLO_NOT_COMPUTABLE;
    // END SOLUTION
}

size_t curve_knee(const struct operating_point *points, size_t n) {
    // BEGIN SOLUTION
    //| LAB_TODO("curve_knee");
    size_t best = n;
    double most = -1;
    for (size_t i = 0; i < n; i++) {
        double power = points[i].throughput_rps / points[i].mean_latency_ns;
        if (!(points[i].mean_latency_ns > 0) || power <= most) continue; /* NaN is above nothing */
        best = i;
        most = power;
    }
    return best;
    // END SOLUTION
}

size_t curve_saturation(const struct operating_point *points, size_t n) {
    // BEGIN SOLUTION
    //| LAB_TODO("curve_saturation");
    size_t best = n;
    for (size_t i = 0; i < n; i++)
        if (points[i].stable &&
            (best == n || points[i].throughput_rps > points[best].throughput_rps))
            best = i;
    return best;
    // END SOLUTION
}

enum curve_region curve_region(const struct operating_point *points, size_t n, size_t at) {
    // BEGIN SOLUTION
    //| LAB_TODO("curve_region");
    size_t knee = curve_knee(points, n), saturation = curve_saturation(points, n);
    double load = points[at].offered_rps;
    if (!points[at].stable || load > points[saturation].offered_rps) return REGION_OVERLOADED;
    if (knee < n && load < points[knee].offered_rps) return REGION_UNDERLOADED;
    return REGION_KNEE;
    // END SOLUTION
}
// BEGIN SOLUTION

static int check_arguments(double lo_rps, double hi_rps, double resolution, struct err *e) {
    if (!(isfinite(lo_rps) && lo_rps > 0))
        return err_at(e, 0, "lo_rps", "the lowest load must be above 0, not %g", lo_rps);
    if (!(isfinite(hi_rps) && hi_rps > lo_rps))
        return err_at(e, 0, "hi_rps", "the highest load must be above the lowest, %g, not %g",
                      lo_rps, hi_rps);
    if (!(isfinite(resolution) && resolution >= 0.001))
        return err_at(e, 0, "resolution", "the resolution must be at least 0.001, not %g",
                      resolution);
    return 0;
}

/* The state of a search: the probe, and the result so far. */
struct search {
    point_probe_fn *probe;
    void *ctx;
    const struct point_limits *limits;
    struct capacity *found;
};

/* Measures one load. *met: it is within the limits. Keeps the highest load that is. */
static int try_load(struct search *s, double rps, bool *met, struct err *e) {
    struct operating_point point;
    s->found->probes++;
    if (s->probe(s->ctx, rps, &point, e)) return -1;
    *met = point_verdict(&point, s->limits) == SLO_MET;
    if (*met || s->found->probes == 1) s->found->at = point;
    if (*met) s->found->rps = rps;
    return 0;
}
// END SOLUTION

int capacity_find(point_probe_fn *probe, void *ctx, double lo_rps, double hi_rps, double resolution,
                  const struct point_limits *limits, struct capacity *out, struct err *e) {
    // BEGIN SOLUTION
    //| LAB_TODO("capacity_find");
    *out = (struct capacity){0};
    struct search s = {probe, ctx, limits, out};
    if (check_arguments(lo_rps, hi_rps, resolution, e)) return -1;
    if (try_load(&s, lo_rps, &out->found, e)) return -1;
    if (!out->found) return 0;
    if (try_load(&s, hi_rps, &out->at_top, e)) return -1;
    double met_rps = lo_rps, missed_rps = hi_rps;
    while (!out->at_top && missed_rps > met_rps * (1 + resolution) &&
           out->probes < CAPACITY_MAX_PROBES) {
        /* the geometric mean: each probe halves the *ratio*, so that few probes search a range of
         * any width */
        double mid_rps = sqrt(met_rps) * sqrt(missed_rps);
        bool met;
        if (try_load(&s, mid_rps, &met, e)) return -1;
        if (met)
            met_rps = mid_rps;
        else
            missed_rps = mid_rps;
    }
    return 0;
    // END SOLUTION
}
