/* kernel_compare.h: is a kernel's output right? Lab 03 writes kernel_compare.c; base/compare.h is
 * what grades the kernels themselves.
 *
 * Two rules make a comparator hard to fool. Finite-ness is read from the exponent's bits, because a
 * comparison with NaN is false, and compilers may be told that NaN doesn't occur. And the tolerance
 * is relative to the magnitude of what is wanted, so that zeros never pass for small numbers.
 */
#ifndef SERVELAB_BACKEND_KERNEL_COMPARE_H
#define SERVELAB_BACKEND_KERNEL_COMPARE_H

#include <stddef.h>

enum compare_verdict {
    COMPARE_RIGHT,
    COMPARE_WRONG,      /* finite, but not within the tolerance */
    COMPARE_NOT_FINITE, /* the output holds a NaN or an infinity */
    COMPARE_NO_ANSWER   /* nothing can be told: see below */
};

struct kernel_comparison {
    enum compare_verdict verdict;
    size_t worst; /* RIGHT, WRONG: the element with the greatest |got - want|, the first on a tie;
                     NOT_FINITE: the first element that isn't finite; NO_ANSWER: 0 */
    double error; /* RIGHT, WRONG: |got - want| of that element / magnitude; otherwise 0 */
};

/* Compares got[0..n) with want[0..n). The magnitude is the greatest |want|. RIGHT when the error is
 * at most `tolerance`. NO_ANSWER, whatever got holds, when the wanted values can't tell right from
 * wrong: n is 0, one of them isn't finite, or all of them are zero. Differences are taken in
 * double. Nothing is written but *out. */
void kernel_compare(const float *got, const double *want, size_t n, double tolerance,
                    struct kernel_comparison *out);

#endif
