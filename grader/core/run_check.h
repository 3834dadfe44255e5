/* run_check.h: one check of one built submission. Used by grade.c alone. */
#ifndef SERVELAB_GRADER_CORE_RUN_CHECK_H
#define SERVELAB_GRADER_CORE_RUN_CHECK_H

#include "core/build.h"
#include "core/collect.h"
#include "core/lab.h"
#include "core/sandbox.h"
#include "core/verdict.h"

struct grading {
    const struct lab *lab;
    const struct sandbox *sandbox;
    const struct workplace *place;
    const struct built *built;
    uint64_t seed;
    bool practice;
    const struct check_result *results; /* beside lab->checks: what has been found so far */
    void *own;                          /* lab->prepare's */
};

/* Sets outcome, message and, for practice, the case, got and want. */
void run_one_check(const struct grading *g, const struct check_def *def, struct check_result *r);

#endif
