/* arrivals.h: random arrival times, the same on every machine: Poisson, gamma gaps, on/off.
 *
 * The set-up uses only + - * / on doubles, which IEEE 754 rounds exactly (and no sum of products,
 * which a compiler could fuse); everything after it is in integers. Time is counted in 2^-shift ns,
 * so that the rounding errors of gaps don't change the rate.
 *
 * Gamma gaps of any shape k = 1 / cv^2. With k = n + f, n whole and 0 <= f < 1, a gamma(k) variate
 * is the sum of n exponentials and a gamma(f) variate, and gamma(f) is an exponential times a
 * beta(f, 1 - f) variate (Johnk, "Erzeugung von betaverteilten und gammaverteilten Zufallszahlen",
 * Metrika 8, 1964). The only function needed is exp(-x), by its series in fixed point. A gap
 * costs n draws, which is why cv is at least 0.05.
 *
 * Not here: closed loops (closed.h), whose arrivals depend on the server.
 */
#ifndef SERVELAB_WORKLOAD_ARRIVALS_H
#define SERVELAB_WORKLOAD_ARRIVALS_H

#include "base/rng.h"

#include <stdint.h>

/* Rates: a mean gap is from 1 ns to 10^15 ns (12 days). cv: the minimum needs 400 draws a gap for
 * gamma; at the maximum all but a few in a thousand gaps are shorter than a clock tick. */
#define ARRIVAL_MIN_RPS 1e-6
#define ARRIVAL_MAX_RPS 1e9
#define ARRIVAL_MIN_CV  0.05
#define ARRIVAL_MAX_CV  20.0
/* A period's mean in seconds, and the mean number of requests in an on-off cycle: below the
 * minimum, drawing one request would pass over many empty periods. */
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
    /* on/off: means of the periods and the rest of the current one, in units; on 0: not on/off */
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
