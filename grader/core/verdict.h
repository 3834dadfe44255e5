/* verdict.h: the result of a grading run, and its totals. The renderings (render.h) read their
 * totals from here; none adds up points itself.
 *
 * Four outcomes. `lost` and `not_run` earn nothing and stay in the total. A `grader_fault` is the
 * grader's own failure: its points leave the total, and the verdict is incomplete. Points are
 * integers. All texts are cleaned (verdict_clean). With an instructor's seed they show the kind of
 * case and nothing else of it (verdict_conceal).
 */
#ifndef SERVELAB_GRADER_CORE_VERDICT_H
#define SERVELAB_GRADER_CORE_VERDICT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRADER_VERSION "1.0"

enum dimension { DIM_INTERVALS, DIM_QUALITY, DIM_SLO, DIM_EVIDENCE, DIM_SAFETY, DIM_N };

/* Points of each dimension in every lab; 100 in total. */
extern const int dimension_points[DIM_N];
const char *dimension_name(enum dimension d); /* "intervals", ... */
const char *dimension_title(enum dimension d);

enum outcome { OUTCOME_NOT_RUN, OUTCOME_EARNED, OUTCOME_LOST, OUTCOME_GRADER_FAULT };
const char *outcome_name(enum outcome o); /* "not_run", "earned", "lost", "grader_fault" */

struct check_result {
    const char *id;    /* "intervals.client_ttft" */
    const char *title; /* one line */
    enum dimension dimension;
    int points; /* points for earning the check */
    enum outcome outcome;
    bool todo;         /* not_run because the function still ends in LAB_TODO */
    bool endless;      /* lost because the submission's code ran out of time */
    bool waited;       /* of those: it waited, and did not compute */
    bool settled;      /* decided before the first case was made: the reason tells nothing of one */
    char message[320]; /* why not earned: one or two sentences */
    char kind[160];    /* the kind of case that failed */
    char input[1200];  /* practice only: the case; one or more lines */
    char got[160];     /* practice only */
    char want[160];    /* practice only */
    char printed[400]; /* practice only: the submission's output meanwhile */
    char rerun[200];   /* practice only: the command that repeats this check */
    char hint[400];    /* if hints were requested */
    char note[240];    /* a measurement, shown for earned checks, too */
    const char *section; /* of the handout */
    const char *file;    /* the learner's file that the check is about; NULL: several */
    int cases, cases_right;
    int64_t took_ms;
    bool heap_grew; /* with most of the cases */
    char wrong[40]; /* the quantity that was wrong first, without its part: "queue_delay" */
};

struct grade_verdict {
    char lab[48];
    char folder[400]; /* the submission, as named on the command line */
    bool practice;    /* the seed is shown */
    uint64_t seed;
    char sandbox[280]; /* "bubblewrap", or what is used instead and why */
    char machine_class[160];
    char counting[200];  /* of lab 03: who counts; "" elsewhere */
    char problem[600];   /* refused files, one a line: "intervals.c:12: ..." */
    char to_read[6000];  /* sentences of the data files, one a line (to_read.h) */
    char warnings[1000]; /* of the compiler, about the submission's files, one a line */
    struct check_result *checks;
    size_t n;
    bool attempted;
    bool partial; /* --check left out some checks; totals cover the chosen ones */
};

struct totals {
    int earned, total; /* total without grader faults */
    int faults;        /* points taken out */
    bool complete;     /* no grader fault */
};

/* Of all checks, and of one dimension. */
struct totals verdict_totals(const struct grade_verdict *v);
struct totals verdict_dimension_totals(const struct grade_verdict *v, enum dimension d);

/* 0 full marks, 1 points lost, 3 not attempted, 4 grader fault. A verdict without checks is a
 * grader fault: nothing was examined. */
int verdict_exit_status(const struct grade_verdict *v);

/* For a hidden seed. What is left of a result follows from its outcome alone, and from the kind of
 * the case that failed: a submission chooses its messages, its end and its counts, and would else
 * say by them what it saw. A settled result stays as it is. */
void verdict_conceal(struct check_result *r);

/* The one cleaner of all that a verdict shows (base/text.h): whatever a submission, its path or its
 * compiler put into a text, it is then valid UTF-8 without control or bidirectional characters. A
 * renderer shows only verdicts that went through here. */
void verdict_clean(struct grade_verdict *v);

void verdict_release(struct grade_verdict *v);

/* Checks a lab's rubric before anything runs: ids unique and well formed, points that add up in
 * each dimension, no check without cases. -1 with *e: the grader's fault. */
struct check_def;
int verdict_check_rubric(const struct check_def *defs, size_t n, struct err *e);

#endif
