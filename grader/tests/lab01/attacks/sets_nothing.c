/* Sets nothing and returns what the stack holds.
 * examined: lost; says: cases are right
 * trusted: nothing
 */
#include "objective/percentile.h"

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    struct percentile p;
    struct percentile *volatile keep = &p;
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)percentile_milli, (void)keep;
    return p;
}
