/* 40 kB without a newline, with NUL bytes and invalid UTF-8; right answers all the same.
 * examined: earned
 * trusted: earned; also in bubblewrap
 */
//reference percentile_nearest_rank right_answer
#include <stdio.h>

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    static int calls;
    if (calls++ == 0)
        for (int i = 0; i < 5000; i++) fwrite("a\0\xff\xfe\xc3(\xed\xa0", 1, 8, stdout);
    return right_answer(obs_ns, n_ok, n_failed, percentile_milli);
}
