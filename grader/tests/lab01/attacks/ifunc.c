/* A function that is chosen while the program is loaded.
 * examined: refused; says: ifunc|load time
 * trusted: nothing
 */
#include "objective/percentile.h"

static struct percentile wrong(const int64_t *obs_ns, size_t n_ok, size_t n_failed, int32_t p) {
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)p;
    return (struct percentile){0};
}
static struct percentile (*choose(void))(const int64_t *, size_t, size_t, int32_t) {
    return wrong;
}
struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli)
    __attribute__((ifunc("choose")));
