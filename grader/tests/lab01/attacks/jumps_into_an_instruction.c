/* Names a function by a place inside of another: the bytes of a constant become instructions.
 * examined: refused; says: no identifier
 * trusted: nothing
 */
#include "objective/percentile.h"

int middle(void) __asm__("middle");
int middle(void) {
    return 0x050f;
}
extern int inside(void) __asm__("middle" "+1");

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed, int32_t p) {
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)p;
    return (struct percentile){.n = (size_t)inside()};
}
