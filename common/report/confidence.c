/* confidence.c: see confidence.h. */
#include "report/confidence.h"

#include <math.h>

/* log of the binomial probability of k of n */
static double log_pmf(double n, double k, double p) {
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log1p(-p);
}

/* The greatest l in 1 .. n with P(X <= l - 1) <= tail; 0: none. *below is that probability. */
static size_t lower_rank(size_t n, double p, double tail, double *below) {
    double sum = 0;
    size_t l = 0;
    *below = 0;
    for (size_t k = 0; k < n; k++) {
        sum += exp(log_pmf((double)n, (double)k, p));
        if (sum > tail) break;
        l = k + 1;
        *below = sum;
    }
    return l;
}

struct rank_interval rank_interval(size_t n, int32_t percentile_milli, double confidence) {
    struct rank_interval r = {.coverage = 1};
    double p = (double)percentile_milli / 100000, tail = (1 - confidence) / 2, missed;
    if (n == 0 || percentile_milli >= 100000) return r;
    r.lo = lower_rank(n, p, tail, &missed);
    r.lo_known = r.lo > 0;
    if (r.lo_known) r.coverage -= missed;
    /* the upper side is the lower side of the (1 - p)-th percentile, counted from the top */
    size_t from_top = lower_rank(n, 1 - p, tail, &missed);
    r.hi_known = from_top > 0;
    r.hi = r.hi_known ? n + 1 - from_top : 0;
    if (r.hi_known) r.coverage -= missed;
    return r;
}
