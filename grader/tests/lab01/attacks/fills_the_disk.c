/* A file that grows without end.
 * examined: refused; says: fopen
 * trusted: nothing; also in bubblewrap
 */
#include "objective/percentile.h"
#include <stdio.h>

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    FILE *f = fopen("big", "w");
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)percentile_milli;
    while (f) fputs("0123456789012345678901234567890123456789", f);
    return (struct percentile){0};
}
