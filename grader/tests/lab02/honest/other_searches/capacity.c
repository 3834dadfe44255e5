/* Other right ways: the search grows from below in large steps and narrows them down tenfold, never
 * by halving; curves are walked from the back. */
#include "objective/point.h"

#include <math.h>

static int holds(const struct percentile *p, int64_t below) {
    if (!p->present) return 1;
    if (p->infinite) return 0;
    return below == INT64_MAX || p->ns < below;
}

enum slo_answer point_verdict(const struct operating_point *p, const struct point_limits *l) {
    int good = p->stable && holds(&p->ttft_p99, l->ttft_below_ns) &&
               holds(&p->tpot_p99, l->tpot_below_ns) && holds(&p->e2e_p99, l->e2e_below_ns);
    if (p->requests == 0) return SLO_NOT_COMPUTABLE;
    if (!good) return SLO_MISSED;
    return p->ttft_p99.present ? SLO_MET : SLO_NOT_COMPUTABLE;
}

size_t curve_knee(const struct operating_point *points, size_t n) {
    size_t best = n;
    for (size_t i = n; i > 0; i--) {
        const struct operating_point *p = &points[i - 1];
        if (!(p->mean_latency_ns > 0)) continue;
        if (best == n || p->throughput_rps * points[best].mean_latency_ns >=
                             points[best].throughput_rps * p->mean_latency_ns)
            best = i - 1;
    }
    return best;
}

size_t curve_saturation(const struct operating_point *points, size_t n) {
    double most = -1;
    size_t best = n;
    for (size_t i = 0; i < n; i++)
        if (points[i].stable && points[i].throughput_rps > most)
            most = points[i].throughput_rps, best = i;
    return best;
}

enum curve_region curve_region(const struct operating_point *points, size_t n, size_t at) {
    size_t knee = curve_knee(points, n), top = curve_saturation(points, n);
    double here = points[at].offered_rps;
    int over = !points[at].stable || (top != n && here > points[top].offered_rps);
    return over                                           ? REGION_OVERLOADED
           : knee != n && here < points[knee].offered_rps ? REGION_UNDERLOADED
                                                          : REGION_KNEE;
}

int capacity_find(point_probe_fn *probe, void *ctx, double lo, double hi, double resolution,
                  const struct point_limits *limits, struct capacity *out, struct err *e) {
    static struct operating_point p; /* large for a stack */
    *out = (struct capacity){0};
    if (!(lo > 0 && hi > lo && hi <= 1e300 && resolution >= 0.001))
        return err_set(e, "loads from %g to %g, resolution %g: no sense", lo, hi, resolution);
    out->probes++;
    int failed = probe(ctx, lo, &p, e);
    out->at = p; /* also what a probe left there that failed */
    if (failed) return -1;
    if (point_verdict(&p, limits) != SLO_MET) return 0;
    out->found = true;
    out->rps = lo;
    double missed = 0; /* not yet */
    double step = exp((log(hi) - log(lo)) / 6);
    while (missed == 0 || missed > out->rps * (1 + resolution)) {
        double ratio = missed / out->rps;
        if (missed > 0) step = ratio > 4 ? sqrt(ratio) : cbrt(ratio);
        double next = out->rps * step;
        if (missed == 0 && next >= hi * 0.999999) next = hi;
        if (missed > 0 && next >= missed) next = sqrt(missed) * sqrt(out->rps);
        out->probes++;
        if (probe(ctx, next, &p, e)) return -1;
        if (point_verdict(&p, limits) != SLO_MET) {
            missed = next;
        } else {
            out->rps = next;
            out->at = p;
            if (next == hi) return out->at_top = true, 0;
        }
    }
    return 0;
}
