/* kernel_trial.h: one learner's kernel, run on hidden data and looked at from outside: are the
 * outputs right, did the checks find anything, what was counted. What that is worth is judge.c's.
 */
#ifndef SERVELAB_GRADER_LAB03_KERNEL_TRIAL_H
#define SERVELAB_GRADER_LAB03_KERNEL_TRIAL_H

#include "lab03/kernel_build.h"
#include "core/run_check.h"

struct trial {
    bool done;
    bool todo; /* launch.json says nothing yet */
    int shapes, shapes_right;
    bool right;       /* all of them */
    bool endless;     /* wrong because it came to no end */
    struct err fault; /* ours, when text isn't empty */
    /* what was wrong first; input, got and want for practice only */
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
