/* rng.c: xoshiro256** and its seeding. See rng.h. */
#include "base/rng.h"

#include "base/err.h"

static uint64_t splitmix64(uint64_t *x) {
    uint64_t z = (*x += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void rng_seed(struct rng *r, uint64_t seed) {
    for (int i = 0; i < 4; i++) r->s[i] = splitmix64(&seed);
}

static uint64_t rotl(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

uint64_t rng_next(struct rng *r) {
    uint64_t *s = r->s;
    uint64_t out = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return out;
}

uint64_t rng_below(struct rng *r, uint64_t n) {
    INVARIANT(n > 0);
    uint64_t floor = -n % n; /* values below this would favour small results */
    uint64_t x;
    do x = rng_next(r);
    while (x < floor);
    return x % n;
}

double rng_unit(struct rng *r) {
    return (double)(rng_next(r) >> 11) * 0x1.0p-53;
}

/* q[k] = sum over i = 1 .. k+1 of (ln 2)^i / i!, times 2^64. Every 64-bit number is below the next
 * term. */
static const uint64_t exponential_q[] = {0xb17217f7d1cf79ab, 0xeef193f6d75a96fc, 0xfd27186259aaf6c2,
                                         0xff9d6dd050f4c5a7, 0xfff4cfcfef1e626b, 0xfffee81886e1c62f,
                                         0xffffe7fe850e0bb5, 0xfffffe2a8731b17d, 0xffffffdfac6eeadc,
                                         0xfffffffdf9640067, 0xffffffffe22ec79c, 0xfffffffffe6a9ded,
                                         0xffffffffffebff81, 0xffffffffffff1417, 0xfffffffffffff5ce,
                                         0xffffffffffffff95, 0xfffffffffffffffb};
enum { EXPONENTIAL_Q = sizeof exponential_q / sizeof *exponential_q };
static const uint64_t LN2_Q58 = 199786072581291494; /* ln 2 times 2^58 */

/* An exponential variate of mean 1, times 2^58. */
static uint64_t exponential_q58(struct rng *r) {
    uint64_t u;
    do u = rng_next(r);
    while (u == 0);
    int doublings = __builtin_clzll(u);
    uint64_t whole = (uint64_t)doublings * LN2_Q58;
    u = doublings == 63 ? 0 : u << (doublings + 1);
    if (u <= exponential_q[0]) return whole + (u >> 6);
    uint64_t least = rng_next(r);
    for (int i = 1;; i++) {
        uint64_t next = rng_next(r);
        if (next < least) least = next;
        if (i >= EXPONENTIAL_Q || u <= exponential_q[i]) break;
    }
    return whole + (uint64_t)((unsigned __int128)least * LN2_Q58 >> 64);
}

int64_t rng_exponential_ns(struct rng *r, int64_t mean_ns) {
    INVARIANT(mean_ns >= 0 && mean_ns <= INT64_C(1) << 52);
    return (int64_t)((unsigned __int128)exponential_q58(r) * (uint64_t)mean_ns >> 58);
}
