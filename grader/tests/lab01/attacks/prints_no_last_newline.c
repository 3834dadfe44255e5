/* Output that never ends its last line; right answers.
 * examined: earned
 * trusted: earned
 */
//reference percentile_nearest_rank right_answer
#include <stdio.h>

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    fputs("no newline here", stdout);
    fputs("nor here", stderr);
    return right_answer(obs_ns, n_ok, n_failed, percentile_milli);
}
