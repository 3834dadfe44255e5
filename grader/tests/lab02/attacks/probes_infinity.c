/* Asks to measure an infinite load.
 * file: capacity.c
 * watch: slo.search_finds
 * examined: lost; says: a load of
 * trusted: nothing
 */
//reference capacity_find right_search
#include <math.h>

int capacity_find(point_probe_fn *probe, void *ctx, double lo_rps, double hi_rps, double resolution,
                  const struct point_limits *limits, struct capacity *out, struct err *e) {
    struct operating_point p;
    probe(ctx, (double)INFINITY, &p, e);
    return right_search(probe, ctx, lo_rps, hi_rps, resolution, limits, out, e);
}
