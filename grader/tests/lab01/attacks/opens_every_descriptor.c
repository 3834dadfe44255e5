/* Opens descriptors until there are no more.
 * examined: refused; says: dup
 * trusted: nothing; also in bubblewrap
 */
#include "objective/percentile.h"
#include <unistd.h>

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)percentile_milli;
    while (dup(3) >= 0) {}
    return (struct percentile){0};
}
