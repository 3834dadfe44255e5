/* A grandchild in a new session that sleeps on, holding every descriptor.
 * examined: refused; says: fork|setsid|sleep
 * trusted: nothing; also in bubblewrap
 */
#include "objective/percentile.h"
#include <unistd.h>

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)percentile_milli;
    if (fork() == 0) {
        setsid();
        if (fork() == 0) sleep(1000);
        _exit(0);
    }
    _exit(0);
}
