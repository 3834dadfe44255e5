/* analysis.c: measures one load: the class and the intervals of each request, and the figures over
 * all of them (objective/point.h has the rules).
 *
 * Every request that arrived in the window stays in every denominator: refusing work must never
 * make a server look fast. Not here: comparing loads (capacity.c).
 */
#include "objective/point.h"
#include "record/intervals.h"
#include "base/lab_todo.h"

enum point_class point_classify(const struct point_request *r) {
    LAB_TODO("point_classify");
}

void point_intervals(const struct point_request *r, struct point_intervals *out) {
    LAB_TODO("point_intervals");
}

int point_measure(const struct point_request *list, size_t n, int64_t from_ns, int64_t to_ns,
                  const struct point_limits *limits, struct operating_point *out, struct err *e) {
    LAB_TODO("point_measure");
}

bool point_stable(const struct point_request *list, size_t n, int64_t from_ns, int64_t to_ns) {
    LAB_TODO("point_stable");
}
