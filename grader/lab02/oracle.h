/* oracle.h: the right answers of lab 02, from the text of objective/point.h; written without
 * looking at the reference. Slow and simple on purpose. The checks of single cases compare with it,
 * and the judges measure their simulations with it. */
#ifndef SERVELAB_GRADER_LAB02_ORACLE_H
#define SERVELAB_GRADER_LAB02_ORACLE_H

#include "core/lab.h"
#include "lab02/cases.h"

enum point_class lab02_oracle_class(const struct point_request *r);
void lab02_oracle_point_intervals(const struct point_request *r, struct point_intervals *out);
void lab02_oracle_measure(const struct point_request *list, size_t n, int64_t from_ns,
                          int64_t to_ns, const struct point_limits *limits,
                          struct operating_point *out);

/* *rise: the line's slope divided by its standard error; 3 or more is a rise. 0 if the share of
 * completions has decided already; infinite for a rise without scatter. May be NULL. */
bool lab02_oracle_stable(const struct point_request *list, size_t n, int64_t from_ns, int64_t to_ns,
                         double *rise);

/* The same quotient for n readings at equal distances. */
double lab02_oracle_slope_over_error(const double *y, int n);

enum slo_answer lab02_oracle_verdict(const struct operating_point *p,
                                     const struct point_limits *limits);
size_t lab02_oracle_knee(const struct operating_point *points, size_t n);
size_t lab02_oracle_saturation(const struct operating_point *points, size_t n);
enum curve_region lab02_oracle_region(const struct operating_point *points, size_t n, size_t at);

/* Fills wants[0..lab02_case_slots(c)) of a single case; for FN_CAPACITY and FN_PLAN no slot is
 * compared. */
void lab02_oracle(const struct lab02_case *c, struct want *wants);

#endif
