/* rng.h: a deterministic random number generator, equal on every machine. Not for secrets.
 *
 * xoshiro256** seeded through splitmix64 (Blackman and Vigna, "Scrambled linear pseudorandom number
 * generators", 2021). Integers only: no result depends on the last bit of a libm function.
 */
#ifndef SERVELAB_BASE_RNG_H
#define SERVELAB_BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t s[4];
};

/* Seeds from one 64-bit number; equal seeds give equal sequences everywhere. */
void rng_seed(struct rng *r, uint64_t seed);

/* The next 64 random bits. */
uint64_t rng_next(struct rng *r);

/* Uniform in [0, n), without modulo bias. n > 0. */
uint64_t rng_below(struct rng *r, uint64_t n);

/* Uniform in [0, 1), a multiple of 2^-53. */
double rng_unit(struct rng *r);

/* An exponential variate of the given mean, rounded down to whole nanoseconds. Computed in integers
 * (Ahrens and Dieter's algorithm SA, CACM 1972, in fixed point), so equal on every machine.
 * mean_ns: 0 .. 2^52. */
int64_t rng_exponential_ns(struct rng *r, int64_t mean_ns);

#endif
