/* cases.h: one case of lab 03 (a call of one of the learner's C functions) and the shape of its
 * answer. Grader and child include it: the grader makes the case and knows the expected answer, the
 * child gets the case only. The number of an answer's slots follows from the case; doubles are sent
 * as their bits. */
#ifndef SERVELAB_GRADER_LAB03_CASES_H
#define SERVELAB_GRADER_LAB03_CASES_H

#include "core/wire.h"

#include "backend/kernel_compare.h"
#include "backend/kernel_time.h"

enum lab03_fn {
    FN_RUN,       /* kernel_run_ns(runs[0]) */
    FN_TIME,      /* kernel_time_ns(runs, n_runs) */
    FN_SPREAD,    /* kernel_spread(runs, n_runs) */
    FN_BANDWIDTH, /* effective_bandwidth(bytes, time_ns) */
    FN_INTENSITY, /* arithmetic_intensity(operations, bytes) */
    FN_RIDGE,     /* roofline_ridge(card) */
    FN_LIMIT,     /* roofline_limit(card, intensity) */
    FN_BOUND,     /* kernel_bound(card, intensity) */
    FN_LEAST,     /* roofline_time_ns(card, operations, bytes) */
    FN_FRACTION,  /* roofline_fraction(card, operations, bytes, time_ns) */
    FN_VERDICT,   /* kernel_time_verdict(card, operations, bytes, runs, n_runs) */
    FN_COMPARE,   /* kernel_compare(got, want, n_values, tolerance) */
    FN_N
};

enum { CASE_MAX_RUNS = 400, CASE_MAX_VALUES = 1000, CASE_COMPARE_SLOTS = 3 };

struct lab03_case {
    enum lab03_fn fn;
    bool read_only; /* inputs can't be written */
    struct kernel_run runs[CASE_MAX_RUNS];
    size_t n_runs;
    int64_t bytes, operations, time_ns;
    double intensity;
    struct kernel_card card;
    float got[CASE_MAX_VALUES];
    double want[CASE_MAX_VALUES];
    size_t n_values;
    double tolerance;
};

/* Writes or reads; 0, or -1 when it does not fit or the bytes are not a case. */
int lab03_case_codec(struct wire *w, struct lab03_case *c);
size_t lab03_case_slots(const struct lab03_case *c);

#endif
