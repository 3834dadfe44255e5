/* percentile.c: the nearest-rank percentile (objective/percentile.h).
 *
 * No interpolation. A failed request counts as +infinity, behind every success, so refusing load
 * can't improve a percentile. An empty population has no percentile.
 */
#include "objective/percentile.h"
// BEGIN SOLUTION
//| #include "base/lab_todo.h"

#include "base/err.h"
#include "base/select.h"

enum { WHOLE = 100000 }; /* 100 % in thousandths of a per cent */

/* ceil(milli * n / WHOLE). n is split so that the product can't overflow. */
static size_t nearest_rank(size_t n, size_t milli) {
    return n / WHOLE * milli + (n % WHOLE * milli + WHOLE - 1) / WHOLE;
}
// END SOLUTION

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    // BEGIN SOLUTION
    //| LAB_TODO("percentile_nearest_rank");
    INVARIANT(percentile_milli >= 1 && percentile_milli <= WHOLE);
    struct percentile p = {.n = n_ok + n_failed, .failed = n_failed};
    size_t above = WHOLE - (size_t)percentile_milli; /* the share above the percentile */
    p.few = above == 0 || p.n < (WHOLE + above - 1) / above;
    if (p.n == 0) return p;
    p.present = true;
    size_t rank = nearest_rank(p.n, (size_t)percentile_milli);
    p.infinite = rank > n_ok;
    if (!p.infinite) p.ns = select_i64(obs_ns, n_ok, rank - 1);
    return p;
    // END SOLUTION
}
