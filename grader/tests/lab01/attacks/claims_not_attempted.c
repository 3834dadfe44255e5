/* Wrong answers, hidden behind "not attempted".
 * examined: not_run; says: not written yet
 * trusted: nothing
 */
#include "objective/percentile.h"
#include "base/lab_todo.h"

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    LAB_TODO("percentile_nearest_rank");
}
