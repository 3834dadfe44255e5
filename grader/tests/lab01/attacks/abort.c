/* Aborts after the first right answer.
 * examined: lost; says: SIGABRT
 * trusted: nothing
 */
//reference percentile_nearest_rank right_answer
#include <stdlib.h>

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    static int calls;
    if (++calls > 1) abort();
    return right_answer(obs_ns, n_ok, n_failed, percentile_milli);
}
