/* Makes a system call by assembly: exit_group(0).
 * examined: refused; says: inline assembly
 * trusted: nothing
 */
#include "objective/percentile.h"

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)percentile_milli;
#ifdef __x86_64__
    __asm__ volatile("syscall" : : "a"(231), "D"(0) : "rcx", "r11", "memory");
#endif
    return (struct percentile){0};
}
