/* grade.h: grades one submission of one lab and fills in a verdict. The order: collect the files,
 * compile, examine the objects, then one process for each check, which is asked case by case.
 * Answers are compared in the grader's process.
 *
 * A check earns all of its points or none: a formula that is right for most requests is wrong.
 * Checks are small, so that points follow what works.
 */
#ifndef SERVELAB_GRADER_CORE_GRADE_H
#define SERVELAB_GRADER_CORE_GRADE_H

#include "core/lab.h"
#include "core/sandbox.h"
#include "core/verdict.h"

struct grade_options {
    const struct lab *lab;
    const char *folder;
    uint64_t seed;
    bool practice;     /* a practice seed: the seed and the cases may be shown */
    const char *check; /* a check's id, a dimension, or a list with commas; NULL for all */
    int hints;         /* steps of help shown with each check that is not earned: 0..CHECK_HINTS */
    bool cuda;       /* on a GPU (lab.h, on_card): prints a table, fills card_status, no verdict */
    int card_status; /* out */
    bool keep;       /* leave the work folder; its path is in `kept` */
    bool force_rlimits;
    bool require_bwrap; /* where bubblewrap doesn't work nothing is run: the grader's fault */
    bool trust_objects; /* for tests only, no flag sets it: skips the examination of objects */
    const char *home;   /* NULL: found by build_find_home */
    bool own;           /* lab is lab_with_own: for the printed command */
    const char *rerun_folder; /* DIR= of the printed command; NULL: the lab's own folder */
    void (*progress)(const char *what, size_t done, size_t total); /* may be NULL */
    char kept[256];                                                /* out */
};

/* Fills *v, which the caller releases. 0; or -1 with *e. *usage: the call was wrong (no such
 * folder, no such check); otherwise the grader failed before it had a verdict. */
int grade_run(struct grade_options *o, struct grade_verdict *v, bool *usage, struct err *e);

/* Whether options.check (a list, or NULL for all) chooses this check. */
bool grade_chosen(const char *check, const struct check_def *def);

#endif
