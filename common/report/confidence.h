/* confidence.h: how exactly a percentile of n requests is known, without assuming a distribution.
 *
 * Of n independent observations, the number that lie below the true p-th percentile is binomial
 * (n, p). So the true percentile lies between two order statistics, the lo-th and the hi-th
 * smallest observation, with at least the asked probability (David and Nagaraja, Order Statistics,
 * 2003, section 7.1). Requests of one run aren't quite independent: a queue delays neighbours
 * together, and the real interval is then wider. The report says so.
 */
#ifndef SERVELAB_REPORT_CONFIDENCE_H
#define SERVELAB_REPORT_CONFIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rank_interval {
    size_t lo, hi;           /* ranks, 1 is the smallest observation */
    bool lo_known, hi_known; /* false: n is too small to bound it on this side */
    double coverage;         /* the probability that is kept; of the known sides only */
};

/* Each side misses with at most (1 - confidence) / 2. 0 < confidence < 1; percentile_milli as in
 * percentile.h, 1 .. 99999. With n 0, or p100, no side is known. */
struct rank_interval rank_interval(size_t n, int32_t percentile_milli, double confidence);

#endif
