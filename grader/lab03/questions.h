/* questions.h: one question to lab 03's C functions and the shape of its answer. Both sides include
 * it: the grader makes the question and knows what is expected, the child only sees the question.
 * The number of an answer's slots follows from the question; doubles travel as their bits.
 */
#ifndef SERVELAB_GRADER_LAB03_QUESTIONS_H
#define SERVELAB_GRADER_LAB03_QUESTIONS_H

#include "wire.h"

#include "backend/kernel_compare.h"
#include "backend/kernel_time.h"

enum question_kind {
    Q_RUN,       /* kernel_run_ns(runs[0]) */
    Q_TIME,      /* kernel_time_ns(runs, n_runs) */
    Q_SPREAD,    /* kernel_spread(runs, n_runs) */
    Q_BANDWIDTH, /* effective_bandwidth(bytes, time_ns) */
    Q_INTENSITY, /* arithmetic_intensity(operations, bytes) */
    Q_RIDGE,     /* roofline_ridge(card) */
    Q_LIMIT,     /* roofline_limit(card, intensity) */
    Q_BOUND,     /* kernel_bound(card, intensity) */
    Q_LEAST,     /* roofline_time_ns(card, operations, bytes) */
    Q_FRACTION,  /* roofline_fraction(card, operations, bytes, time_ns) */
    Q_VERDICT,   /* kernel_time_verdict(card, operations, bytes, runs, n_runs) */
    Q_COMPARE,   /* kernel_compare(got, want, n_values, tolerance) */
    Q_N
};

enum { QUESTION_MAX_RUNS = 400, QUESTION_MAX_VALUES = 1000, QUESTION_COMPARE_SLOTS = 3 };

struct question {
    enum question_kind kind;
    bool read_only; /* inputs can't be written, and end at a page that can't be read */
    struct kernel_run runs[QUESTION_MAX_RUNS];
    size_t n_runs;
    int64_t bytes, operations, time_ns;
    double intensity;
    struct kernel_card card;
    float got[QUESTION_MAX_VALUES];
    double want[QUESTION_MAX_VALUES];
    size_t n_values;
    double tolerance;
};

/* Writes or reads; 0, or -1 when it didn't fit or the bytes are no question. */
int lab03_question_codec(struct wire *w, struct question *q);
size_t lab03_question_slots(const struct question *q);

#endif
