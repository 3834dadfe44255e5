/* The load that it finds is NaN.
 * file: capacity.c
 * watch: slo.search_finds
 * examined: lost; says: never measured
 * trusted: nothing
 */
//reference capacity_find right_search
#include <math.h>

int capacity_find(point_probe_fn *probe, void *ctx, double lo_rps, double hi_rps, double resolution,
                  const struct point_limits *limits, struct capacity *out, struct err *e) {
    int rc = right_search(probe, ctx, lo_rps, hi_rps, resolution, limits, out, e);
    out->rps = (double)NAN;
    return rc;
}
