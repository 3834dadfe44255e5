/* kernel_compare.h: decides whether a kernel's output is right. Lab 03 writes kernel_compare.c; the
 * kernels themselves are graded with base/compare.h.
 *
 * A comparator must not be fooled. So it tests for NaN and infinity by the exponent's bits: every
 * comparison with NaN is false, and some compiler options assume that NaN doesn't occur. And its
 * tolerance is relative to the magnitude of the wanted values, so that zeros don't pass for small
 * numbers.
 */
#ifndef SERVELAB_BACKEND_KERNEL_COMPARE_H
#define SERVELAB_BACKEND_KERNEL_COMPARE_H

#include <stddef.h>

enum compare_verdict {
    COMPARE_RIGHT,
    COMPARE_WRONG,      /* finite, but not within the tolerance */
    COMPARE_NOT_FINITE, /* the output holds a NaN or an infinity */
    COMPARE_NO_ANSWER   /* the wanted values can't decide: see below */
};

struct kernel_comparison {
    enum compare_verdict verdict;
    size_t worst; /* RIGHT, WRONG: the element with the greatest |got - want|, the first on a tie;
                     NOT_FINITE: the first element that isn't finite; NO_ANSWER: 0 */
    double error; /* RIGHT, WRONG: |got - want| of that element / magnitude; otherwise 0 */
};

/* Compares got[0..n) with want[0..n). The magnitude is the greatest |want|. RIGHT if the error is
 * at most `tolerance`. NO_ANSWER, for any got, if the wanted values can't decide: n is 0, one of
 * them isn't finite, or all of them are zero. Differences are taken in double. Writes only *out. */
void kernel_compare(const float *got, const double *want, size_t n, double tolerance,
                    struct kernel_comparison *out);

#endif
