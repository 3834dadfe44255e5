/* Prints while another owner stands in the lock of stdout: it waits for ever.
 * examined: lost; says: such as a lock
 * trusted: nothing
 */
#include "objective/percentile.h"
#include <stdio.h>

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)percentile_milli;
    ((int *)stdout->_lock)[0] = 1;
    ((void **)stdout->_lock)[1] = stdout;
    puts("waits");
    return (struct percentile){0};
}
