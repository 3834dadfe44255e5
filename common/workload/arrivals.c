/* arrivals.c: Poisson, gamma and on/off arrivals in integers. See arrivals.h for the method. */
#include "workload/arrivals.h"

#include "base/clock.h"
#include "base/err.h"

#include <math.h>
#include <stdbool.h>

enum { MAX_SHIFT = 20 }; /* a millionth of a ns: finer units don't change a rate noticeably */
static const double MOST = 0x1.0p52; /* what rng_exponential_ns takes */
static const uint64_t LN2_Q52 = UINT64_C(0xb17217f7d1cf8);
static const uint64_t ONE_Q62 = UINT64_C(1) << 62;
enum { EXP_TERMS = 19 }; /* (ln 2)^20 / 20! is 3e-22, under 2^-62 */

/* The finest unit in which `ns` is at most 2^52. */
static int finest_shift(double ns) {
    int shift = MAX_SHIFT;
    while (shift > 0 && ldexp(ns, shift) > MOST) shift--;
    return shift;
}

/* In units, to nearest. ldexp is exact and llrint rounds the same way everywhere. */
static int64_t in_units(double ns, int shift) {
    return llrint(ldexp(ns, shift));
}

void arrival_poisson(struct arrival_process *p, double rate_rps, uint64_t seed) {
    INVARIANT(rate_rps >= ARRIVAL_MIN_RPS && rate_rps <= ARRIVAL_MAX_RPS);
    double mean_ns = (double)NS_PER_S / rate_rps;
    *p = (struct arrival_process){.shift = finest_shift(mean_ns)};
    rng_seed(&p->rng, seed);
    p->gap = in_units(mean_ns, p->shift);
}

void arrival_gamma(struct arrival_process *p, double rate_rps, double cv, uint64_t seed) {
    INVARIANT(rate_rps >= ARRIVAL_MIN_RPS && rate_rps <= ARRIVAL_MAX_RPS);
    INVARIANT(cv >= ARRIVAL_MIN_CV && cv <= ARRIVAL_MAX_CV);
    double shape = 1 / (cv * cv), scale_ns = (double)NS_PER_S / rate_rps / shape;
    *p = (struct arrival_process){.shift = finest_shift(scale_ns)};
    rng_seed(&p->rng, seed);
    int64_t shape_q32 = llrint(ldexp(shape, 32));
    p->whole = (uint32_t)(shape_q32 >> 32);
    p->part = (uint32_t)shape_q32;
    p->scale = in_units(scale_ns, p->shift);
}

void arrival_on_off(struct arrival_process *p, double rate_rps, double on_s, double off_s,
                    uint64_t seed) {
    double cycle_s = on_s + off_s, share = on_s / cycle_s;
    double gap_ns = (double)NS_PER_S / rate_rps * share;
    double longest_s = on_s > off_s ? on_s : off_s;
    double longest_ns = longest_s * (double)NS_PER_S;
    *p = (struct arrival_process){.shift = finest_shift(gap_ns > longest_ns ? gap_ns : longest_ns)};
    rng_seed(&p->rng, seed);
    p->gap = in_units(gap_ns, p->shift);
    p->on = in_units(on_s * (double)NS_PER_S, p->shift);
    p->off = in_units(off_s * (double)NS_PER_S, p->shift);
    /* exponential periods have no memory: the rest of the first one is drawn like a whole one */
    bool starts_on = rng_unit(&p->rng) < share;
    if (!starts_on) p->at = (unsigned __int128)rng_exponential_ns(&p->rng, p->off);
    p->on_left = rng_exponential_ns(&p->rng, p->on);
}

/* ---- gamma ---- */

uint64_t arrival_exp_minus(uint64_t x) {
    uint64_t halvings = x / LN2_Q52;
    if (halvings >= 62) return 0;
    uint64_t rest = (x - halvings * LN2_Q52) << 10; /* below ln 2, times 2^62 */
    uint64_t y = ONE_Q62;
    for (uint64_t n = EXP_TERMS; n > 0; n--) /* 1 - r/1 (1 - r/2 (1 - r/3 ... */
        y = ONE_Q62 - (uint64_t)((unsigned __int128)rest * y >> 62) / n;
    return y >> halvings;
}

/* Mean 1, times 2^52; below 45. */
static uint64_t exponential_q52(struct rng *r) {
    return (uint64_t)rng_exponential_ns(r, INT64_C(1) << 52);
}

/* -ln(U^(1/a)) for uniform U and a = f / 2^32, times 2^52; cut where exp(-x) has long been 0. */
static uint64_t minus_log_root(struct rng *r, uint64_t f) {
    const uint64_t most = UINT64_C(2000) << 52;
    unsigned __int128 x = ((unsigned __int128)exponential_q52(r) << 32) / f;
    return x > most ? most : (uint64_t)x;
}

/* beta(f, 1 - f), times 2^62; f = part / 2^32. Johnk: X = U^(1/f), Y = V^(1/(1-f)), accepted when
 * X + Y <= 1, gives X / (X + Y). It is accepted with probability pi f (1 - f) / sin(pi f), at least
 * pi / 4. */
static uint64_t beta_q62(struct rng *r, uint32_t part) {
    uint64_t x, y;
    do {
        x = minus_log_root(r, part);
        y = minus_log_root(r, (UINT64_C(1) << 32) - part);
    } while (arrival_exp_minus(x) + arrival_exp_minus(y) > ONE_Q62);
    /* X / (X + Y) by the ratio of the smaller to the greater, which doesn't vanish with both */
    uint64_t ratio = arrival_exp_minus(x > y ? x - y : y - x);
    uint64_t smaller = (uint64_t)(((unsigned __int128)ratio << 62) / (ONE_Q62 + ratio));
    return x > y ? smaller : ONE_Q62 - smaller;
}

static unsigned __int128 gamma_gap(struct arrival_process *p) {
    uint64_t sum = 0; /* times 2^40: at most 401 terms below 45 */
    for (uint32_t i = 0; i < p->whole; i++) sum += exponential_q52(&p->rng) >> 12;
    if (p->part > 0) {
        uint64_t beta = beta_q62(&p->rng, p->part);
        sum += (uint64_t)((unsigned __int128)exponential_q52(&p->rng) * beta >> (52 + 62 - 40));
    }
    return (unsigned __int128)sum * (uint64_t)p->scale >> 40;
}

/* ---- on/off ---- */

static unsigned __int128 on_off_gap(struct arrival_process *p) {
    int64_t need = rng_exponential_ns(&p->rng, p->gap); /* of on-time */
    unsigned __int128 passed = 0;
    while (need > p->on_left) {
        need -= p->on_left;
        passed +=
            (unsigned __int128)p->on_left + (unsigned __int128)rng_exponential_ns(&p->rng, p->off);
        p->on_left = rng_exponential_ns(&p->rng, p->on);
    }
    p->on_left -= need;
    return passed + (unsigned __int128)need;
}

int64_t arrival_next_ns(struct arrival_process *p) {
    if (p->on > 0)
        p->at += on_off_gap(p);
    else if (p->scale > 0)
        p->at += gamma_gap(p);
    else
        p->at += (unsigned __int128)rng_exponential_ns(&p->rng, p->gap);
    unsigned __int128 ns = p->at >> p->shift;
    return ns >> 62 ? INT64_MAX : (int64_t)ns;
}
