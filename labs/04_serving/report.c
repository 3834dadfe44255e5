/* report.c: makes operating points of request records and judges them (objective/report.h has the
 * rules).
 *
 * One idea: the population is fixed before anything is measured. Every user request that arrived in
 * the window stays in every denominator, whatever became of it; only then are latencies looked at.
 * Not here: reading files and printing (common/report).
 */
#include "objective/report.h"
#include "base/lab_todo.h"

int report_attempt(const struct record *r, int64_t scheduled_ns, enum truncation_rule truncation,
                   struct report_attempt *out, struct err *e) {
    LAB_TODO("report_attempt");
}

int report_group(const struct objective *o, const struct report_attempt *attempts, size_t n,
                 struct report_request *out, size_t *n_out, struct err *e) {
    LAB_TODO("report_group");
}

int report_measure(const struct objective *o, const struct report_request *requests, size_t n,
                   const struct report_window *window, struct report_point *out, struct err *e) {
    LAB_TODO("report_measure");
}

enum slo_answer report_verdict(const struct objective *o, const struct report_point *p) {
    LAB_TODO("report_verdict");
}

int report_regions(const struct objective *o, const struct report_point *points, size_t n,
                   struct report_regions *out, struct err *e) {
    LAB_TODO("report_regions");
}
