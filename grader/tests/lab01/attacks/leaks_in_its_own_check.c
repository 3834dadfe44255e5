/* Leaks where no other function of the file was called before: the checks of safety call them all in one program.
 * file: slo.c
 * watch: safety.no_leak
 * examined: lost; says: not here, but in|slo_throughput in slo.c
 * trusted: nothing
 */
#define slo_failure_rate inner_failure_rate
//reference slo_throughput right
#undef slo_failure_rate
#include <stdio.h>
#include <stdlib.h>

__typeof__(inner_failure_rate) slo_failure_rate;
static bool mixed;

enum slo_answer slo_failure_rate(const struct objective *o, const struct slo_counts *c) {
    mixed = true;
    return inner_failure_rate(o, c);
}

enum slo_answer slo_throughput(const struct objective *o, const struct slo_counts *c) {
    static void *volatile kept;
    if (!mixed) kept = malloc(100);
    return right(o, c);
}
