/* child/lab02_stubs.c: supplies functions of a file that is missing or was refused, so that the
 * other files are graded. Weak symbols: a submission's own function always replaces them. */
#include "base/lab_todo.h"
#include "objective/point.h"
#include "sched/policy.h"

#define STUB __attribute__((weak))

STUB enum point_class point_classify(const struct point_request *r) {
    LAB_TODO("point_classify");
}
STUB void point_intervals(const struct point_request *r, struct point_intervals *out) {
    LAB_TODO("point_intervals");
}
STUB int point_measure(const struct point_request *list, size_t n, int64_t from_ns, int64_t to_ns,
                       const struct point_limits *limits, struct operating_point *out,
                       struct err *e) {
    LAB_TODO("point_measure");
}
STUB bool point_stable(const struct point_request *list, size_t n, int64_t from_ns, int64_t to_ns) {
    LAB_TODO("point_stable");
}
STUB enum slo_answer point_verdict(const struct operating_point *p,
                                   const struct point_limits *limits) {
    LAB_TODO("point_verdict");
}
STUB size_t curve_knee(const struct operating_point *points, size_t n) {
    LAB_TODO("curve_knee");
}
STUB size_t curve_saturation(const struct operating_point *points, size_t n) {
    LAB_TODO("curve_saturation");
}
STUB enum curve_region curve_region(const struct operating_point *points, size_t n, size_t at) {
    LAB_TODO("curve_region");
}
STUB int capacity_find(point_probe_fn *probe, void *ctx, double lo_rps, double hi_rps,
                       double resolution, const struct point_limits *limits, struct capacity *out,
                       struct err *e) {
    LAB_TODO("capacity_find");
}
STUB const struct policy_ops *policy_learner(void) {
    LAB_TODO("policy_learner");
}
STUB const struct policy_ops *policy_learner_batch(void) {
    LAB_TODO("policy_learner_batch");
}
