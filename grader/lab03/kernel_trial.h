/* kernel_trial.h: runs one learner's kernel on hidden data and reports whether the outputs are
 * right, the findings of the checks, and the counts. judge_kernel.c turns that into points. */
#ifndef SERVELAB_GRADER_LAB03_KERNEL_TRIAL_H
#define SERVELAB_GRADER_LAB03_KERNEL_TRIAL_H

#include "core/grading.h"
#include "lab03/kernel_build.h"

struct trial {
    bool done;
    bool todo;       /* launch.json has no entry yet */
    bool bad_launch; /* wrong because of launch.json */
    int shapes, shapes_right;
    bool right;       /* all of them */
    bool endless;     /* wrong because it did not end */
    struct err fault; /* the grader's fault, when the text isn't empty */
    /* the first fault; input, got and want for practice only */
    char wrong[320], kind[160], input[400], got[160], want[160];
    char finding[400]; /* of the checks, "" when there is none */
    char printed[400];
    /* the counts of the last shape, when all were right */
    bool counted;
    char uncounted[200]; /* why not */
    struct kernel_sizes sizes;
    struct kernel_counts counts;
};

/* Runs a built program on every shape of its kernel. */
void lab03_trial_run(const struct grading *g, const struct kernel_program *p, struct trial *t);

#endif
