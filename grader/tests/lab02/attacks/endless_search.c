/* Never stops, and asks for nothing.
 * file: capacity.c
 * watch: slo.search_finds
 * examined: lost; says: endless loop
 * trusted: nothing; also in bubblewrap
 */
//reference capacity_find right_search
#include <math.h>

int capacity_find(point_probe_fn *probe, void *ctx, double lo_rps, double hi_rps, double resolution,
                  const struct point_limits *limits, struct capacity *out, struct err *e) {
    volatile int forever = 1;
    (void)probe, (void)ctx, (void)lo_rps, (void)hi_rps, (void)resolution, (void)limits, (void)out;
    while (forever) {
    }
    return err_set(e, "never");
}
