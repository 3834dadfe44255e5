/* Ends the program with status 0 after three right answers, so that "it ended well" looks like a
 * pass.
 * examined: lost; says: ended the program
 * trusted: nothing
 */
//reference percentile_nearest_rank right_answer
#include <stdlib.h>

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    static int calls;
    if (++calls > 3) exit(0);
    return right_answer(obs_ns, n_ok, n_failed, percentile_milli);
}
