/* Ends the program in the middle of a search.
 * file: capacity.c
 * watch: slo.search_finds
 * examined: lost; says: ended the program
 * trusted: nothing
 */
//reference capacity_find right_search
#include <stdlib.h>
#include <math.h>

int capacity_find(point_probe_fn *probe, void *ctx, double lo_rps, double hi_rps, double resolution,
                  const struct point_limits *limits, struct capacity *out, struct err *e) {
    struct operating_point p;
    if (!probe(ctx, lo_rps, &p, e)) exit(0);
    return right_search(probe, ctx, lo_rps, hi_rps, resolution, limits, out, e);
}
