/* Exit status 3 means "not attempted" elsewhere; here it means that no answer came.
 * examined: lost; says: ended the program
 * trusted: nothing
 */
#include "objective/percentile.h"
#include <stdlib.h>

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)percentile_milli;
    exit(3);
}
