/* select.c: selection by counting leading bits (a radix sort that follows one bucket). See
 * select.h. */
#include "base/select.h"

#include "base/err.h"

#include <stdlib.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS }; /* 16 KiB of counts: within the L1 cache */

/* Smallest and greatest of v[0..n), n > 0. */
static void find_range(const int64_t *v, size_t n, int64_t *lo, int64_t *hi) {
    int64_t a = v[0], b = v[0];
    for (size_t i = 1; i < n; i++) {
        a = v[i] < a ? v[i] : a;
        b = v[i] > b ? v[i] : b;
    }
    *lo = a;
    *hi = b;
}

/* How far a distance of at most `most` is shifted right so that DIGIT_BITS are left of it. */
static int shift_of(uint64_t most) {
    int bits = most ? 64 - __builtin_clzll(most) : 0;
    return bits > DIGIT_BITS ? bits - DIGIT_BITS : 0;
}

/* The distance of v[i] from lo; a difference of two int64_t fits into 64 bits without a sign. */
static size_t digit_of(int64_t value, int64_t lo, int shift) {
    return (size_t)(((uint64_t)value - (uint64_t)lo) >> shift);
}

int64_t select_i64(const int64_t *v, size_t n, size_t k) {
    INVARIANT(k < n);
    int64_t *kept = NULL;
    for (;;) {
        int64_t lo, hi;
        find_range(v, n, &lo, &hi);
        int shift = shift_of((uint64_t)hi - (uint64_t)lo);
        size_t count[DIGITS] = {0}, digit = 0, m = 0;
        for (size_t i = 0; i < n; i++) count[digit_of(v[i], lo, shift)]++;
        while (k >= count[digit]) k -= count[digit++];
        if (shift == 0) { /* a digit is one value */
            free(kept);
            return (int64_t)((uint64_t)lo + digit);
        }
        if (!kept) kept = malloc(count[digit] * sizeof *kept);
        INVARIANT(kept);
        for (size_t i = 0; i < n; i++) /* in place from the second round on: m <= i */
            if (digit_of(v[i], lo, shift) == digit) kept[m++] = v[i];
        v = kept;
        n = m;
    }
}
