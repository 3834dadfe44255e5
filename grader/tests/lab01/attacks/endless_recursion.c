/* Recursion without end.
 * examined: lost; says: SIGSEGV
 * trusted: nothing; also in bubblewrap
 */
#include "objective/percentile.h"

static int64_t deeper(volatile int64_t *x) {
    volatile int64_t y[64] = {*x + 1};
    return deeper(y) + y[3];
}

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    int64_t x = (int64_t)n_ok;
    (void)obs_ns, (void)n_failed, (void)percentile_milli;
    return (struct percentile){true, false, deeper(&x), 0, 0, 0};
}
