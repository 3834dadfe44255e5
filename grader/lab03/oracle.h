/* oracle.h: the right answers of lab 03's C functions, from the text of backend/kernel_time.h and
 * backend/kernel_compare.h; written without looking at the reference. Slow and simple on purpose.
 */
#ifndef SERVELAB_GRADER_LAB03_ORACLE_H
#define SERVELAB_GRADER_LAB03_ORACLE_H

#include "core/lab.h"
#include "lab03/cases.h"

/* -1: no valid time */
int64_t lab03_oracle_run_ns(const struct kernel_run *r);

/* Fills wants[0..lab03_case_slots(c)). */
void lab03_oracle(const struct lab03_case *c, struct want *wants);

#endif
