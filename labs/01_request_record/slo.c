/* slo.c: is the objective met? objective/slo.h has the rules.
 *
 * Three answers: met, missed, and "not computable" if the data lack something that the question
 * needs. A missing number never becomes a zero, and throughput never counts as success while a
 * latency limit is missed.
 */
#include "objective/slo.h"
#include "base/lab_todo.h"

enum slo_answer slo_limit(const struct latency_limit *limit, const struct percentile *p) {
    LAB_TODO("slo_limit");
}

enum slo_answer slo_failure_rate(const struct objective *o, const struct slo_counts *c) {
    LAB_TODO("slo_failure_rate");
}

enum slo_answer slo_quality(const struct objective *o, const struct slo_counts *c) {
    LAB_TODO("slo_quality");
}

enum slo_answer slo_throughput(const struct objective *o, const struct slo_counts *c) {
    LAB_TODO("slo_throughput");
}

enum slo_answer slo_objective_value(const struct objective *o, const struct slo_counts *c,
                                    double *value, char *reason, size_t cap) {
    LAB_TODO("slo_objective_value");
}

enum slo_answer slo_verdict(const struct objective *o, const struct percentile *percentiles,
                            const struct slo_counts *c) {
    LAB_TODO("slo_verdict");
}
