/* run_check.h: runs one check of one submission. Used by grade.c only. */
#ifndef SERVELAB_GRADER_CORE_RUN_CHECK_H
#define SERVELAB_GRADER_CORE_RUN_CHECK_H

#include "core/grading.h"
#include "core/lab.h"
#include "core/verdict.h"

/* Sets outcome and message; with a practice seed also case, got and want. */
void run_one_check(const struct grading *g, const struct check_def *def, struct check_result *r);

#endif
