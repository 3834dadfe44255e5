/* oracle.h: what is right, from the text of objective/point.h; written without looking at the
 * reference. Slow and plain on purpose. Used by the checks of single cases and by the judges, which
 * measure with it what they have simulated.
 */
#ifndef SERVELAB_GRADER_LAB02_ORACLE_H
#define SERVELAB_GRADER_LAB02_ORACLE_H

#include "lab.h"
#include "lab02/questions.h"

enum point_class oracle_class(const struct point_request *r);
void oracle_point_intervals(const struct point_request *r, struct point_intervals *out);
void oracle_measure(const struct point_request *list, size_t n, int64_t from_ns, int64_t to_ns,
                    const struct point_limits *limits, struct operating_point *out);

/* *rise: the line's slope over its standard error, which decides at 3; 0 where the share of
 * completions has decided already; infinite for a rise without scatter. May be NULL. */
bool oracle_stable(const struct point_request *list, size_t n, int64_t from_ns, int64_t to_ns,
                   double *rise);

/* That quotient for n readings at equal distances. */
double oracle_slope_over_error(const double *y, int n);

enum slo_answer oracle_verdict(const struct operating_point *p, const struct point_limits *limits);
size_t oracle_knee(const struct operating_point *points, size_t n);
size_t oracle_saturation(const struct operating_point *points, size_t n);
enum curve_region oracle_region(const struct operating_point *points, size_t n, size_t at);

/* Fills wants[0..question_slots(q)) of a question that one answer settles: all but Q_CAPACITY and
 * Q_PLAN, whose slots nobody asks about. */
void oracle_wants(const struct question *q, struct want *wants);

#endif
