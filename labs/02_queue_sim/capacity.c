/* capacity.c: loads compared: the verdict at one, the knee and saturation of several, and the
 * highest that meets the limits (objective/point.h has the rules).
 *
 * A load is a run, and a run is costly: the search asks as rarely as it can. Refuses: to measure
 * (that is analysis.c), and to say more than was measured.
 */
#include "objective/point.h"
#include "base/lab_todo.h"

enum slo_answer point_verdict(const struct operating_point *p, const struct point_limits *limits) {
    LAB_TODO("point_verdict");
}

size_t curve_knee(const struct operating_point *points, size_t n) {
    LAB_TODO("curve_knee");
}

size_t curve_saturation(const struct operating_point *points, size_t n) {
    LAB_TODO("curve_saturation");
}

enum curve_region curve_region(const struct operating_point *points, size_t n, size_t at) {
    LAB_TODO("curve_region");
}

int capacity_find(point_probe_fn *probe, void *ctx, double lo_rps, double hi_rps, double resolution,
                  const struct point_limits *limits, struct capacity *out, struct err *e) {
    LAB_TODO("capacity_find");
}
