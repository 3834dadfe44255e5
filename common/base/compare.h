/* compare.h: compares computed floats with a reference and reports the worst element.
 *
 * Every check of numbers uses it. The report has the worst element, its index and how much of the
 * tolerance it used. Two rules prevent a false pass:
 *   - Finiteness is tested on the exponent bits, so NaN and infinities never pass, even if
 *     the compiler assumes finite math.
 *   - The tolerance is relative to the magnitude of the reference, so zeros never pass. A reference
 *     that is all zeros or not finite proves nothing and is refused.
 *
 * Not here: the tolerances. Each test states its own, with the reason.
 */
#ifndef SERVELAB_BASE_COMPARE_H
#define SERVELAB_BASE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

struct comparison {
    bool ok;
    size_t n;         /* elements compared; 0 is never ok */
    size_t worst;     /* index of the worst element, or of the first that is not finite */
    double got, want; /* of that element */
    double error; /* of that element: |got - want| / magnitude; infinite when got is not finite */
    double used;  /* error / tolerance: above 1 the comparison fails */
    const char *fault; /* why nothing could be compared: "the reference is all zeros"; else NULL */
};

/* Compares got[i] with want[i] within tolerance * magnitude. The magnitude is the greatest |want|;
 * if an array of positive numbers is given, it is magnitude[i] (for a dot product: the sum of the
 * terms' magnitudes, with which rounding errors grow). tolerance > 0. */
struct comparison compare_floats(const float *got, const double *want, const double *magnitude,
                                 size_t n, double tolerance);

/* Compares bit patterns element by element; also refuses values that are not finite and an all-zero
 * reference. */
struct comparison compare_bits(const float *got, const float *want, size_t n);

/* "element 17 of 64: got 1.25, want 1.5, error 1.7e-01 of the magnitude, 1666.7 times the
 * tolerance" into buf. Returns buf. */
const char *comparison_text(const struct comparison *c, char *buf, size_t cap);

#endif
