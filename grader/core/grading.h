/* grading.h: the context of one grading run: which lab, which submission, which seed, and what the
 * checks of the run share. grade.c fills it; run_check.c and the labs read it.
 */
#ifndef SERVELAB_GRADER_CORE_GRADING_H
#define SERVELAB_GRADER_CORE_GRADING_H

#include "core/build.h"
#include "core/collect.h"
#include "core/lab.h"
#include "core/sandbox.h"
#include "core/verdict.h"

struct grading {
    const struct lab *lab;
    const struct sandbox *sandbox;
    const struct workplace *place;
    struct built *built; /* NULL when only the lab's own programs run */
    uint64_t seed;
    bool practice;                      /* the seed and the cases may be shown */
    const struct check_result *results; /* parallel to lab->checks: the results so far */
    void *own;                          /* what lab->prepare left; NULL otherwise */
};

#endif
