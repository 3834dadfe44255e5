/* A constructor registered through its section, without the attribute.
 * examined: refused; says: constructor
 * trusted: nothing
 */
#include "objective/percentile.h"
#include <stdlib.h>

static void first(void) {
    exit(0);
}
__attribute__((section(".preinit_array"), used)) static void (*entry)(void) = first;

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)percentile_milli;
    return (struct percentile){0};
}
