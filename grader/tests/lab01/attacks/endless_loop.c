/* Never comes back; a time-out gives no point.
 * examined: lost; says: endless loop
 * trusted: nothing; also in bubblewrap
 */
#include "objective/percentile.h"

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    volatile int forever = 1;
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)percentile_milli;
    while (forever) {}
    return (struct percentile){0};
}
