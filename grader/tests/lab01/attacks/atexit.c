/* Something that runs at the end.
 * examined: refused; says: atexit|_exit
 * trusted: nothing
 */
#include "objective/percentile.h"
#include <stdlib.h>
#include <unistd.h>

static void last(void) {
    _exit(0);
}

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)percentile_milli;
    atexit(last);
    return (struct percentile){0};
}
