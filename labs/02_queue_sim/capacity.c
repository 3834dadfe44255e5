/* capacity.c: compares loads: the verdict at one, the knee and saturation of several, and the
 * highest load that meets the limits (objective/point.h has the rules).
 *
 * Each load is a costly run: the search needs as few as possible. Not here: measuring a load
 * (analysis.c).
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
