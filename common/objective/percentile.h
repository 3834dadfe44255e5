/* percentile.h: nearest-rank percentiles that failures can't improve. Lab 01 writes this interface
 * (percentile.c).
 *
 * The p-th percentile is the smallest observation with at least p % of the observations at or below
 * it (nearest rank, no interpolation: every printed figure is a latency that some request really
 * had). A failed request is an observation of +infinity: refusing load must never improve a
 * percentile.
 */
#ifndef SERVELAB_OBJECTIVE_PERCENTILE_H
#define SERVELAB_OBJECTIVE_PERCENTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct percentile {
    bool present;  /* false for an empty population: there is no percentile, not a zero */
    bool infinite; /* the rank falls among the failed requests; ns means nothing then */
    int64_t ns;
    size_t n;      /* population: successes + failures */
    size_t failed; /* of which failed */
    bool few; /* fewer observations than the percentile can resolve, n < 100 / (100 - p): p99 under
                 100, p99.9 under 1,000. p100 is always marked: a maximum only grows with n. So is
                 the empty population */
};

/* obs_ns[0..n_ok) are the latencies of the requests that succeeded, in any order; they are not
 * changed. n_failed more requests failed. percentile_milli: thousandths of a per cent, 1..100000
 * (99000 is p99), so that no rank depends on a rounding of p. rank = ceil(percentile_milli * n /
 * 100000), computed in integers (n up to 2^63 / 100000). n_ok may be 0, and obs_ns NULL then. Where
 * present or infinite says that ns means nothing, it is 0. Needs n_ok * 8 bytes of scratch; aborts
 * when memory is out. */
struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli);

#endif
