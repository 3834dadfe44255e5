/* child/lab01_stubs.c: supplies functions of a file that is missing or was refused, so that the
 * other files are graded. Weak symbols: a submission's own function always replaces them. */
#include "base/lab_todo.h"
#include "objective/classify.h"
#include "objective/percentile.h"
#include "objective/slo.h"
#include "record/intervals.h"

#define STUB __attribute__((weak))

STUB struct interval interval_between(const struct record *r, const struct event *start,
                                      const struct event *end) {
    LAB_TODO("interval_between");
}
STUB int64_t interval_divide(int64_t n, int64_t d) {
    LAB_TODO("interval_divide");
}
STUB void intervals_compute(const struct record *r, struct intervals *out) {
    LAB_TODO("intervals_compute");
}
STUB size_t intervals_itl(const struct record *r, int64_t *out_ns, size_t cap) {
    LAB_TODO("intervals_itl");
}
STUB enum completion_reason classify_attempt(const struct record *r,
                                             enum truncation_rule truncation) {
    LAB_TODO("classify_attempt");
}
STUB void classify_request(const struct record *const *attempts, size_t n,
                           enum truncation_rule truncation, struct classification *out) {
    LAB_TODO("classify_request");
}
STUB bool classify_good(const struct classification *c, const struct intervals *iv,
                        const struct objective *o) {
    LAB_TODO("classify_good");
}
STUB struct percentile percentile_nearest_rank(const int64_t *obs_ns, size_t n_ok, size_t n_failed,
                                               int32_t percentile_milli) {
    LAB_TODO("percentile_nearest_rank");
}
STUB enum slo_answer slo_limit(const struct latency_limit *limit, const struct percentile *p) {
    LAB_TODO("slo_limit");
}
STUB enum slo_answer slo_failure_rate(const struct objective *o, const struct slo_counts *c) {
    LAB_TODO("slo_failure_rate");
}
STUB enum slo_answer slo_quality(const struct objective *o, const struct slo_counts *c) {
    LAB_TODO("slo_quality");
}
STUB enum slo_answer slo_throughput(const struct objective *o, const struct slo_counts *c) {
    LAB_TODO("slo_throughput");
}
STUB enum slo_answer slo_objective_value(const struct objective *o, const struct slo_counts *c,
                                         double *value, char *reason, size_t cap) {
    LAB_TODO("slo_objective_value");
}
STUB enum slo_answer slo_verdict(const struct objective *o, const struct percentile *percentiles,
                                 const struct slo_counts *c) {
    LAB_TODO("slo_verdict");
}
