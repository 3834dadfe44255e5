/* Jumps back into an earlier call instead of returning.
 * examined: refused; says: setjmp
 * trusted: nothing
 */
//reference percentile_nearest_rank right_answer
#include <setjmp.h>

static jmp_buf back;

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    static int calls;
    if (++calls == 2 && setjmp(back) == 0) calls = 2;
    if (calls > 2) longjmp(back, 1);
    return right_answer(obs_ns, n_ok, n_failed, percentile_milli);
}
