/* percentile.c: the p-th percentile that some request really had (objective/percentile.h).
 *
 * Nearest rank, no interpolation. A failed request stands at +infinity, behind every success, so
 * that refusing load can't make a percentile better. Refuses: to answer for an empty population.
 */
#include "objective/percentile.h"
#include "base/lab_todo.h"

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    LAB_TODO("percentile_nearest_rank");
}
