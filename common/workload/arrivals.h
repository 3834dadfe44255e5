/* arrivals.h: random times of arrival, the same on every machine: Poisson, gamma gaps, on/off.
 *
 * Integers throughout after the set-up, which uses only + - * / on doubles, which IEEE 754 rounds
 * exactly (no sum of products, which a compiler could fuse). Time is counted in 2^-shift ns, so
 * that the rounding of a gap doesn't add up to another rate.
 *
 * Gamma gaps of any shape k = 1 / cv^2. With k = n + f, n whole and 0 <= f < 1, a gamma(k) variate
 * is the sum of n exponentials and a gamma(f) variate, and gamma(f) is an exponential times a
 * beta(f, 1 - f) variate (Johnk, "Erzeugung von betaverteilten und gammaverteilten Zufallszahlen",
 * Metrika 8, 1964). The only function needed is exp(-x), by its series in fixed point. The price is
 * n draws a gap: cv is at least 0.05.
 *
 * Not here: closed loops (closed.h), whose arrivals depend on the server.
 */
#ifndef SERVELAB_WORKLOAD_ARRIVALS_H
#define SERVELAB_WORKLOAD_ARRIVALS_H

#include "base/rng.h"

#include <stdint.h>

/* Limits with their reasons: a mean gap from 1 ns to 10^15 ns (12 days); n draws a gap for gamma
 * (400) and, upwards, gaps of which all but a few in a thousand are shorter than a clock tick. */
#define ARRIVAL_MIN_RPS 1e-6
#define ARRIVAL_MAX_RPS 1e9
#define ARRIVAL_MIN_CV  0.05
#define ARRIVAL_MAX_CV  20.0
/* A period's mean in seconds, and how many requests an on-off cycle sees at least: fewer would be
 * long walks over empty periods. */
#define ARRIVAL_MIN_PERIOD_S       1e-6
#define ARRIVAL_MAX_PERIOD_S       1e6
#define ARRIVAL_MIN_CYCLE_REQUESTS 1e-3

struct arrival_process {
    struct rng rng;
    int shift; /* the unit is 2^-shift ns */
    unsigned __int128 at;
    int64_t gap; /* mean of an exponential gap, in units; of on/off: of on-time */
    /* gamma: shape = whole + part / 2^32, scale = mean / shape in units; shape 0: not gamma */
    uint32_t whole, part;
    int64_t scale;
    /* on/off: means of the periods and what is left of this one, in units; on 0: not on/off */
    int64_t on, off, on_left;
};

/* Rates, cv and periods within the limits above. */
void arrival_poisson(struct arrival_process *p, double rate_rps, uint64_t seed);
void arrival_gamma(struct arrival_process *p, double rate_rps, double cv, uint64_t seed);
void arrival_on_off(struct arrival_process *p, double rate_rps, double on_s, double off_s,
                    uint64_t seed);

/* The next time of arrival in ns; INT64_MAX from 2^62 ns (146 years) on. */
int64_t arrival_next_ns(struct arrival_process *p);

/* exp(-x), for tests: x in 2^-52, the result in 2^-62, within 2^-45 of the truth. */
uint64_t arrival_exp_minus(uint64_t x_q52);

#endif
