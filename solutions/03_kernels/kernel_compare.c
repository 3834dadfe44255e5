/* kernel_compare.c: the comparator of lab 03. Defined in backend/kernel_compare.h.
 */
#include "backend/kernel_compare.h"

// BEGIN SOLUTION
//| #include "base/lab_todo.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool float_is_finite(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits >> 23 & 0xff) != 0xff;
}

static bool double_is_finite(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits >> 52 & 0x7ff) != 0x7ff;
}

/* The greatest |want|; 0 if they can't decide. */
static double magnitude_of(const double *want, size_t n) {
    double greatest = 0;
    for (size_t i = 0; i < n; i++) {
        if (!double_is_finite(want[i])) return 0;
        greatest = fmax(greatest, fabs(want[i]));
    }
    return greatest;
}
// END SOLUTION

void kernel_compare(const float *got, const double *want, size_t n, double tolerance,
                    struct kernel_comparison *out) {
    // BEGIN SOLUTION
    //| LAB_TODO("kernel_compare");
    double magnitude = magnitude_of(want, n), greatest = 0;
    *out = (struct kernel_comparison){.verdict = COMPARE_NO_ANSWER};
    if (magnitude == 0) return;
    for (size_t i = 0; i < n; i++) {
        if (!float_is_finite(got[i])) {
            *out = (struct kernel_comparison){.verdict = COMPARE_NOT_FINITE, .worst = i};
            return;
        }
        double off = fabs((double)got[i] - want[i]);
        if (off <= greatest) continue;
        greatest = off;
        out->worst = i;
    }
    out->error = greatest / magnitude;
    out->verdict = out->error <= tolerance ? COMPARE_RIGHT : COMPARE_WRONG;
    // END SOLUTION
}
