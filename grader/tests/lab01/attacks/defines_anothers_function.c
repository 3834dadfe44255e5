/* A function of another file once more: neither file takes the others with it.
 * file: slo.c
 * watch: slo.strict
 * examined: refused; says: in its own file, too
 * trusted: nothing
 */
#include "objective/percentile.h"
#include "objective/slo.h"
//reference slo_limit right

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)percentile_milli;
    return (struct percentile){0};
}

enum slo_answer slo_limit(const struct latency_limit *l, const struct percentile *p) {
    return right(l, p);
}
