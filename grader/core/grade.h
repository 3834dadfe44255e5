/* grade.h: grades one submission of one lab. The order of things: collect, compile, examine, then
 * one process a check, asked case by case; answers are compared here.
 *
 * A check is worth its points or nothing: a formula that is right for most requests is not right.
 * Checks are small instead, so that points follow what works.
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
    bool practice;     /* the seed may be shown, and with it the cases */
    const char *check; /* a check's id, a dimension, or a list with commas; NULL for all */
    int hints;         /* steps to show with what was not earned: 0..CHECK_HINTS */
    bool cuda;       /* on a GPU (lab.h, on_card): prints a table, fills card_status, no verdict */
    int card_status; /* out */
    bool keep;       /* leave the work folder; its path is in `kept` */
    bool force_rlimits;
    bool trust_objects; /* for tests of the walls behind the examination only; no flag sets it */
    const char *home;   /* NULL: found by build_find_home */
    const char *rerun_folder; /* DIR= of the printed command; NULL: the lab's own folder */
    void (*progress)(const char *what, size_t done, size_t total); /* may be NULL */
    char kept[256];                                                /* out */
};

/* Fills *v, which the caller releases. 0; or -1 with *e and *usage set when the call was wrong (no
 * such folder, no such check), or not when we failed before a verdict could be made. */
int grade_run(struct grade_options *o, struct grade_verdict *v, bool *usage, struct err *e);

/* Does `check` of the options choose this check? */
bool grade_chosen(const char *check, const struct check_def *def);

#endif
