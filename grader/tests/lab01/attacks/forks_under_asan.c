/* A call that the optimiser takes out, but not in the build with sanitizers.
 * watch: safety.memory_percentile
 * examined: refused; says: fork
 * trusted: earned
 */
//reference percentile_nearest_rank right
#include <unistd.h>

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    if (percentile_milli + 1 < percentile_milli) fork();
    return right(obs_ns, n_ok, n_failed, percentile_milli);
}
