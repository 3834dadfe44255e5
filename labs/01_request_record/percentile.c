/* percentile.c: the nearest-rank percentile (objective/percentile.h).
 *
 * No interpolation. A failed request counts as +infinity, behind every success, so refusing load
 * can't improve a percentile. An empty population has no percentile.
 */
#include "objective/percentile.h"
#include "base/lab_todo.h"

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    LAB_TODO("percentile_nearest_rank");
}
