/* Returns a plausible load without measuring it.
 * file: capacity.c
 * watch: slo.search_finds
 * examined: lost; says: found|measured|measurements
 * trusted: nothing
 */
//reference capacity_find right_search
#include <math.h>

int capacity_find(point_probe_fn *probe, void *ctx, double lo_rps, double hi_rps, double resolution,
                  const struct point_limits *limits, struct capacity *out, struct err *e) {
    (void)probe, (void)ctx, (void)limits, (void)e, (void)resolution;
    *out = (struct capacity){.found = true, .rps = sqrt(lo_rps * hi_rps), .probes = 9};
    return 0;
}
