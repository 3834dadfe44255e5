/* percentile.h: nearest-rank percentiles in which a failed request counts as +infinity. Lab 01
 * writes this interface (percentile.c).
 *
 * The p-th percentile is the smallest observation with at least p % of the observations at or below
 * it. There is no interpolation, so every printed figure is a latency that some request had.
 * Because failures count as +infinity, refusing load can't improve a percentile. A percentile is
 * always printed with n and its population, and the one over successes alone beside it. In JSON,
 * +infinity is null with "infinite": true.
 */
#ifndef SERVELAB_OBJECTIVE_PERCENTILE_H
#define SERVELAB_OBJECTIVE_PERCENTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct percentile {
    bool present;  /* false for an empty population: there is no percentile */
    bool infinite; /* the rank is among the failed requests; ns is not valid */
    int64_t ns;
    size_t n;      /* population: successes + failures */
    size_t failed; /* of which failed */
    bool few; /* n < 100 / (100 - p): p99 with n under 100, p99.9 with n under 1,000. Always true
                 for p100, since a maximum only grows with n, and for an empty population */
};

/* obs_ns[0..n_ok): the latencies of the requests that succeeded, in any order, not changed; NULL if
 * n_ok is 0. n_failed more requests failed. percentile_milli: thousandths of a per cent, 1..100000
 * (99000 is p99), so that no rank depends on rounding p. rank = ceil(percentile_milli * n /
 * 100000), computed in integers (n up to 2^63 / 100000). ns is 0 where it is not valid. Needs n_ok
 * * 8 bytes of scratch memory; aborts if there is none. */
struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli);

#endif
