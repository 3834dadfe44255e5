/* Assembly outside of every function, which reads a file of the machine into the object.
 * examined: refused; says: inline assembly
 * trusted: nothing
 */
#include "objective/percentile.h"

__asm__(".section .rodata\nstolen: .incbin \"/etc/hostname\"\n.text");

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)percentile_milli;
    return (struct percentile){0};
}
