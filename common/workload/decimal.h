/* decimal.h: reads decimal numbers exactly, without a double: times to whole nanoseconds, and whole
 * numbers. */
#ifndef SERVELAB_WORKLOAD_DECIMAL_H
#define SERVELAB_WORKLOAD_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

/* text[0..n) must be digits with at most one point and an optional exponent ("5", "0.1250",
 * "7e-05",
 * ".5"), in units of unit_ns, a power of ten; *out is the value in ns, rounded to nearest (halves
 * up). No sign except "-0", no spaces. NULL, or the reason why it is bad: "negative", "not a
 * number" or "too large" (2^62 ns are 146 years). */
const char *decimal_ns(const char *text, size_t n, int64_t unit_ns, int64_t *out);

/* text[0..n) must be digits only: a whole number from 0 to `most`. NULL or the reason, as above. */
const char *decimal_whole(const char *text, size_t n, uint64_t most, uint64_t *out);

#endif
