/* Answers the smallest number there is where a value is wanted.
 * file: slo.c
 * watch: slo.value
 * examined: lost; says: cases are right
 * trusted: nothing
 */
//reference slo_objective_value right_value
#include <math.h>

enum slo_answer slo_objective_value(const struct objective *o, const struct slo_counts *c,
                                    double *value, char *reason, size_t cap) {
    enum slo_answer a = right_value(o, c, value, reason, cap);
    if (a == SLO_MET) *value = 0x1p-1074;
    return a;
}
