/* Keeps a block for each new input, and none when it is asked the same again.
 * watch: safety.no_leak
 * examined: lost; says: percentile_nearest_rank in percentile.c
 * trusted: nothing
 */
//reference percentile_nearest_rank right
#include <stdlib.h>
#include <string.h>

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    static struct {
        const int64_t *obs_ns;
        size_t n_ok, n_failed;
        int32_t percentile_milli;
    } last;
    static void *volatile kept;
    bool again = obs_ns == last.obs_ns && n_ok == last.n_ok && n_failed == last.n_failed &&
                 percentile_milli == last.percentile_milli;
    if (!again) kept = malloc(1000);
    last.obs_ns = obs_ns, last.n_ok = n_ok, last.n_failed = n_failed;
    last.percentile_milli = percentile_milli;
    return right(obs_ns, n_ok, n_failed, percentile_milli);
}
