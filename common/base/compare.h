/* compare.h: the one comparator for computed numbers.
 *
 * Offers: a verdict on a vector of floats against a reference, with the worst element, its index
 * and how much of the tolerance it used. Two rules make it hard to fool:
 *   - finite-ness is tested on the exponent bits, so that NaN and infinities never pass, whatever
 *     the compiler was told about them;
 *   - the tolerance is relative to the magnitude of the reference, so that zeros never pass. A
 *     reference that is all zeros, or not finite, can't tell right from wrong and is refused.
 * Not here: which tolerance is right; each test states its own with its reason.
 */
#ifndef SERVELAB_BASE_COMPARE_H
#define SERVELAB_BASE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

struct comparison {
    bool ok;
    size_t n;          /* elements compared; 0 is never ok */
    size_t worst;      /* index of the worst element; of the first one that isn't finite */
    double got, want;  /* there */
    double error;      /* there: |got - want| / magnitude; infinite when got isn't finite */
    double used;       /* error / tolerance: above 1 the comparison fails */
    const char *fault; /* why nothing could be compared: "the reference is all zeros"; else NULL */
};

/* Compares got[i] with want[i] within tolerance * magnitude. The magnitude is the greatest |want|,
 * or magnitude[i] where an array of positive numbers is given (for a dot product: the sum of the
 * terms' magnitudes, which is what rounding errors grow with). tolerance > 0. */
struct comparison compare_floats(const float *got, const double *want, const double *magnitude,
                                 size_t n, double tolerance);

/* The same bits, element by element; also refuses what isn't finite and an all-zero reference. */
struct comparison compare_bits(const float *got, const float *want, size_t n);

/* "element 17 of 64: got 1.25, want 1.5, error 1.7e-01 of the magnitude, 1666.7 times the
 * tolerance" into buf. Returns buf. */
const char *comparison_text(const struct comparison *c, char *buf, size_t cap);

#endif
