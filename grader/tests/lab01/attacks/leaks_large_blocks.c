/* Leaks so large a block that the C library maps it, and does not count it as heap.
 * watch: safety.no_leak
 * examined: lost; says: in percentile.c doesn't give back
 * trusted: nothing
 */
//reference percentile_nearest_rank right_answer
#include <stdlib.h>

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    volatile char *lost = malloc(160 * 1024);
    if (lost) lost[0] = 1;
    return right_answer(obs_ns, n_ok, n_failed, percentile_milli);
}
