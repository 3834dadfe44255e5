/* verdict.h: what a grading run found. One struct, many renderings (render.h): every rendering
 * reads its totals from here and adds nothing up by itself.
 *
 * Four outcomes. `lost` and `not_run` earn nothing and stay in the total; a `grader_fault` is our
 * own failure: its points leave the total, and the verdict is then incomplete. Points are integers.
 * Texts in here are clean (text.h) and, when the seed is an instructor's, say no more than the kind
 * of case.
 */
#ifndef SERVELAB_GRADER_CORE_VERDICT_H
#define SERVELAB_GRADER_CORE_VERDICT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRADER_VERSION "1.0"

enum dimension { DIM_INTERVALS, DIM_QUALITY, DIM_SLO, DIM_EVIDENCE, DIM_SAFETY, DIM_N };

/* A lab's points by dimension; together 100. */
extern const int dimension_points[DIM_N];
const char *dimension_name(enum dimension d); /* "intervals", ... */
const char *dimension_title(enum dimension d);

enum outcome { OUTCOME_NOT_RUN, OUTCOME_EARNED, OUTCOME_LOST, OUTCOME_GRADER_FAULT };
const char *outcome_name(enum outcome o); /* "not_run", "earned", "lost", "grader_fault" */

struct check_result {
    const char *id;    /* "intervals.client_ttft" */
    const char *title; /* what is asked, one line */
    enum dimension dimension;
    int points; /* what the check is worth */
    enum outcome outcome;
    bool todo;           /* not_run because the starter's LAB_TODO was reached */
    bool endless;        /* lost because time ran out in the submission's code */
    char message[320];   /* why not earned: one or two sentences */
    char kind[160];      /* the kind of case that failed */
    char input[1200];    /* practice only: the case; may have several lines */
    char got[160];       /* practice only */
    char want[160];      /* practice only */
    char printed[400];   /* practice only: what the submission printed meanwhile */
    char rerun[200];     /* practice only: the command that runs this check again */
    char hint[400];      /* when hints were asked for */
    char note[240];      /* worth saying though it is earned: what was measured */
    const char *section; /* of the handout */
    int cases, cases_right;
};

struct grade_verdict {
    char lab[48];
    char folder[400]; /* the submission, as named on the command line */
    bool practice;    /* the seed is shown */
    uint64_t seed;
    char sandbox[200]; /* "bubblewrap", or why not and what instead */
    char machine_class[160];
    char problem[600]; /* what stopped all code checks: "intervals.c:12: ..." */
    struct check_result *checks;
    size_t n;
    bool attempted;
    bool partial; /* some checks were left out on request; totals cover the chosen ones */
};

struct totals {
    int earned, total; /* total without grader faults */
    int faults;        /* points taken out */
    bool complete;     /* no grader fault */
};

/* Over everything, or over one dimension. */
struct totals verdict_totals(const struct grade_verdict *v);
struct totals verdict_dimension_totals(const struct grade_verdict *v, enum dimension d);

/* 0 full marks, 1 points lost, 3 not attempted, 4 grader fault. A verdict without checks is a
 * fault: nothing was examined, so nothing was earned. */
int verdict_exit_status(const struct grade_verdict *v);

void verdict_release(struct grade_verdict *v);

/* Is the list a lab's rubric: ids unique and well formed, every dimension's points as they should
 * be. -1 with *e naming what is wrong; that is a fault of ours, found before anything runs. */
struct check_def;
int verdict_check_rubric(const struct check_def *defs, size_t n, struct err *e);

#endif
