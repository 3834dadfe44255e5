/* Sleeps, which costs no CPU time.
 * examined: refused; says: sleep
 * trusted: nothing; also in bubblewrap
 */
#include "objective/percentile.h"
#include <unistd.h>

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)percentile_milli;
    for (int i = 0; i < 10; i++) sleep(1);
    return (struct percentile){0};
}
