/* Assembly smuggled in through the name of a section.
 * examined: refused; says: could hold assembly
 * trusted: nothing
 */
#include "objective/percentile.h"

__attribute__((section(".rodata\n.incbin \"/etc/passwd\"\n.section .data,\"aw\",@progbits#"))) int
    stolen = 1;

struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                          int32_t percentile_milli) {
    (void)obs_ns, (void)n_ok, (void)n_failed, (void)percentile_milli;
    return (struct percentile){0};
}
