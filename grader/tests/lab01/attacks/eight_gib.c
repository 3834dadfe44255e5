/* 8 GiB, and every page of it.
 * examined: lost; says: SIGSEGV|SIGKILL|SIGABRT
 * trusted: nothing; also in bubblewrap
 */
#include "objective/percentile.h"
#include <stdlib.h>

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    size_t n = (size_t)8 << 30;
    volatile char *p = malloc(n);
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)percentile_milli;
    for (size_t i = 0; i < n; i += 4096) p[i] = 1;
    return (struct percentile){true, false, p[n - 1], 0, 0, 0};
}
