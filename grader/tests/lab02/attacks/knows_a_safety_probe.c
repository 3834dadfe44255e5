/* Looks whether the probe's context has a number, as it once had where the search is served without the grader; elsewhere it
 * leaks.
 * file: capacity.c
 * watch: safety.no_leak
 * examined: lost; says: capacity_find in capacity.c
 * trusted: nothing
 */
//reference capacity_find right
#include <stdlib.h>

int capacity_find(point_probe_fn *probe, void *ctx, double lo_rps, double hi_rps, double resolution,
                  const struct point_limits *limits, struct capacity *out, struct err *e) {
    static void *volatile kept;
    if (!(*(const double *)ctx > 0)) kept = malloc(100);
    return right(probe, ctx, lo_rps, hi_rps, resolution, limits, out, e);
}
