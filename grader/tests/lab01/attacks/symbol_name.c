/* Assembly smuggled in through the name of a symbol.
 * examined: refused; says: no identifier
 * trusted: nothing
 */
#include "objective/percentile.h"

extern int stolen __asm__("optarg\n\tsyscall\n\tnop\n\tnop #");

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)percentile_milli;
    stolen = 7;
    return (struct percentile){0};
}
