/* test_arrivals.c: the times of arrival have the distributions they claim.
 *
 * Fixed seeds, so that a verdict is the same on every machine. The Kolmogorov-Smirnov bound is
 * 1.63 / sqrt(n), which a right generator exceeds for one seed in a hundred; one that is wrong by a
 * percent at n = 200,000 can't stay below it (the last test shows that it tells). */
#include "workload/arrivals.h"

#include "base/clock.h"
#include "testing/check_main.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum { N = 200000 };
static const double RATE = 1000; /* gaps of 1 ms: a million clock ticks */

/* ---- closed forms, in doubles and libm: a test may be wrong in the last bit ---- */

/* Regularized lower incomplete gamma function P(a, x): series below a + 1, continued fraction (the
 * modified Lentz method) above. */
static double gamma_cdf(double a, double x) {
    if (x <= 0) return 0;
    double front = exp(a * log(x) - x - lgamma(a));
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (double k = a + 1; term > sum * 1e-16; k++) sum += term *= x / k;
        return front * sum;
    }
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (int i = 1; i < 10000; i++) {
        double an = -i * (i - a);
        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-15) break;
    }
    return 1 - front * h;
}

/* Gaps of an interrupted Poisson process are hyperexponential (Kuczura, "The interrupted Poisson
 * process as an overflow process", BSTJ 52, 1973). */
struct hyper {
    double p, k1, k2;
};
static struct hyper interrupted_poisson(double on_rate, double on_s, double off_s) {
    double w = 1 / on_s, g = 1 / off_s, sum = on_rate + w + g;
    double root = sqrt(sum * sum - 4 * on_rate * g), k1 = (sum + root) / 2, k2 = (sum - root) / 2;
    return (struct hyper){(on_rate - k2) / (k1 - k2), k1, k2};
}
static double hyper_cdf(struct hyper h, double t) {
    return 1 - h.p * exp(-h.k1 * t) - (1 - h.p) * exp(-h.k2 * t);
}

/* ---- measuring ---- */

struct gaps {
    double *s; /* seconds, sorted: (N) */
    double mean, cv, lag1;
};

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct gaps measure(struct arrival_process *p) {
    struct gaps g = {.s = malloc(N * sizeof *g.s)};
    ck_assert(g.s != NULL);
    int64_t before = 0;
    bool sorted = true; /* an assertion costs a system call: none in loops of N */
    for (int i = 0; i < N; i++) {
        int64_t at = arrival_next_ns(p);
        sorted &= at >= before;
        g.s[i] = (double)(at - before) / 1e9;
        g.mean += g.s[i] / N;
        before = at;
    }
    ck_assert(sorted);
    double var = 0, lag = 0;
    for (int i = 0; i < N; i++) {
        var += (g.s[i] - g.mean) * (g.s[i] - g.mean);
        if (i > 0) lag += (g.s[i] - g.mean) * (g.s[i - 1] - g.mean);
    }
    g.cv = sqrt(var / N) / g.mean;
    g.lag1 = lag / var;
    qsort(g.s, N, sizeof *g.s, by_value);
    return g;
}

/* Greatest distance of the sample's distribution from gamma(shape)'s. Gaps below a microsecond are
 * a thousand ticks or fewer, where a whole number of ns isn't a continuous variate: not compared.
 */
static double distance_from_gamma(const struct gaps *g, double shape, double rate) {
    double worst = 0;
    for (int i = 0; i < N; i++) {
        if (g->s[i] < 1e-6) continue;
        double f = gamma_cdf(shape, g->s[i] * rate * shape);
        worst = fmax(worst, fmax(f - (double)i / N, (double)(i + 1) / N - f));
    }
    return worst;
}

static const double KS_BOUND = 1.63 / 447.2; /* sqrt(N) */

START_TEST(poisson_gaps_are_exponential) {
    struct arrival_process p;
    arrival_poisson(&p, RATE, 1);
    struct gaps g = measure(&p);
    ck_assert_double_eq_tol(g.mean * RATE, 1, 0.01); /* four standard errors of 1 / sqrt(N) */
    ck_assert_double_eq_tol(g.cv, 1, 0.01);
    ck_assert_double_eq_tol(g.lag1, 0, 0.01);
    ck_assert_double_lt(distance_from_gamma(&g, 1, RATE), KS_BOUND);
    free(g.s);
}
END_TEST

static const double CVS[] = {0.05, 0.07, 0.3, 0.5, 0.72, 0.9, 0.99, 1, 1.01, 1.5, 2, 4, 10, 20};
enum { N_CVS = sizeof CVS / sizeof *CVS };

START_TEST(gamma_gaps_have_their_mean_and_variation) {
    double cv = CVS[_i];
    struct arrival_process p;
    arrival_gamma(&p, RATE, cv, 7);
    struct gaps g = measure(&p);
    /* relative standard errors: of the mean cv / sqrt(N), of cv sqrt((1 + cv^2) / 2 / N) */
    double root = sqrt(N);
    ck_assert_msg(fabs(g.mean * RATE - 1) < 4 * cv / root, "cv %g: mean %g", cv, g.mean * RATE);
    ck_assert_msg(fabs(g.cv / cv - 1) < 4 * sqrt((1 + cv * cv) / 2) / root, "cv %g: got %g", cv,
                  g.cv);
    ck_assert_double_eq_tol(g.lag1, 0, 0.01);
    double d = distance_from_gamma(&g, 1 / (cv * cv), RATE);
    ck_assert_msg(d < KS_BOUND, "cv %g: distance %g, bound %g", cv, d, KS_BOUND);
    free(g.s);
}
END_TEST

START_TEST(gaps_of_cv_1_are_those_of_poisson) {
    struct arrival_process gamma, poisson;
    arrival_gamma(&gamma, RATE, 1, 3);
    arrival_poisson(&poisson, RATE, 3);
    int64_t apart = 0;
    for (int i = 0; i < 10000; i++)
        apart |= llabs(arrival_next_ns(&gamma) - arrival_next_ns(&poisson));
    ck_assert_int_le(apart, 1); /* the last of 40 bits of a gap */
}
END_TEST

START_TEST(on_off_gaps_are_those_of_an_interrupted_poisson_process) {
    static const double periods[][2] = {{0.1, 0.3}, {1, 0.01}, {0.005, 0.005}, {2, 2}};
    double on_s = periods[_i][0], off_s = periods[_i][1];
    struct arrival_process p;
    arrival_on_off(&p, RATE, on_s, off_s, 5);
    struct gaps g = measure(&p);
    struct hyper h = interrupted_poisson(RATE * (on_s + off_s) / on_s, on_s, off_s);
    double mean = h.p / h.k1 + (1 - h.p) / h.k2;
    double second = 2 * (h.p / h.k1 / h.k1 + (1 - h.p) / h.k2 / h.k2);
    ck_assert_double_eq_tol(mean * RATE, 1, 1e-9); /* the mean rate is the one asked for */
    double error = sqrt(second - mean * mean) / sqrt(N);
    ck_assert_msg(fabs(g.mean - mean) < 4 * error, "mean %g, want %g", g.mean, mean);
    double worst = 0;
    for (int i = 0; i < N; i++) {
        double f = hyper_cdf(h, g.s[i]);
        worst = fmax(worst, fmax(f - (double)i / N, (double)(i + 1) / N - f));
    }
    ck_assert_msg(worst < KS_BOUND, "distance %g, bound %g", worst, KS_BOUND);
    free(g.s);
}
END_TEST

START_TEST(on_off_is_on_at_time_0_for_its_share_of_the_seeds) {
    int on = 0, seeds = 20000;
    for (int i = 0; i < seeds; i++) {
        struct arrival_process p;
        arrival_on_off(&p, RATE, 1, 3, (uint64_t)i);
        on += p.at == 0;
    }
    ck_assert_double_eq_tol((double)on / seeds, 0.25, 4 * sqrt(0.25 * 0.75 / seeds));
}
END_TEST

/* The count in a fixed time keeps the variance of a Poisson count. */
START_TEST(M10_nothing_is_rescaled_to_end_at_n_over_rate) {
    enum { RUNS = 2000, COUNT = 400 };
    double mean = 0, squares = 0, last_s[RUNS];
    for (int i = 0; i < RUNS; i++) {
        struct arrival_process p;
        arrival_poisson(&p, RATE, 1000 + (uint64_t)i);
        for (int k = 0; k < COUNT; k++) last_s[i] = (double)arrival_next_ns(&p) / 1e9;
        mean += last_s[i] / RUNS;
    }
    for (int i = 0; i < RUNS; i++) squares += (last_s[i] - mean) * (last_s[i] - mean);
    double sd = sqrt(squares / (RUNS - 1)), want = sqrt(COUNT) / RATE;
    ck_assert_double_eq_tol(mean, COUNT / RATE, 4 * want / sqrt(RUNS));
    ck_assert_double_eq_tol(sd / want, 1, 4 / sqrt(2.0 * RUNS));
}
END_TEST

START_TEST(high_and_low_rates_keep_their_mean) { /* rounding to whole nanoseconds keeps the mean
                                                    even at 10^9 */
    static const double rates[] = {1e-6, 0.01, 1, 12345.678, 3e6, 3e8, 1e9};
    for (size_t k = 0; k < sizeof rates / sizeof *rates; k++)
        for (int gamma = 0; gamma < 2; gamma++) {
            struct arrival_process p;
            int n = rates[k] < 1e-3 ? 1000 : N;
            if (gamma)
                arrival_gamma(&p, rates[k], 0.5, 11);
            else
                arrival_poisson(&p, rates[k], 11);
            int64_t last = 0;
            for (int i = 0; i < n; i++) last = arrival_next_ns(&p);
            double error = (gamma ? 0.5 : 1) / sqrt(n);
            ck_assert_double_eq_tol((double)last / 1e9 * rates[k] / n, 1, 4 * error);
        }
}
END_TEST

START_TEST(time_ends_without_wrapping) {
    struct arrival_process p;
    arrival_gamma(&p, ARRIVAL_MIN_RPS, ARRIVAL_MAX_CV, 1);
    int64_t before = 0;
    bool sorted = true;
    for (int i = 0; i < 200000 && before < INT64_MAX; i++) {
        int64_t at = arrival_next_ns(&p);
        sorted &= at >= before;
        before = at;
    }
    ck_assert(sorted);
    ck_assert_int_eq(before, INT64_MAX);
    ck_assert_int_eq(arrival_next_ns(&p), INT64_MAX);
}
END_TEST

START_TEST(exp_of_minus_x_in_fixed_point) {
    struct rng r;
    rng_seed(&r, 2);
    double worst = 0;
    for (int i = 0; i < 200000; i++) {
        uint64_t x = rng_next(&r) >> (6 + rng_below(&r, 30)); /* up to 64, also small ones */
        long double want = expl(-ldexpl((long double)x, -52));
        long double got = ldexpl((long double)arrival_exp_minus(x), -62);
        worst = fmax(worst, (double)fabsl(got - want));
    }
    ck_assert_msg(worst < 0x1p-45, "off by %g", worst);
    ck_assert_uint_eq(arrival_exp_minus(0), UINT64_C(1) << 62);
    ck_assert_uint_eq(arrival_exp_minus(UINT64_MAX), 0);
}
END_TEST

/* The bounds above tell a generator that is off by a percent. */
START_TEST(a_biased_generator_fails_the_bounds) {
    struct arrival_process p;
    arrival_gamma(&p, RATE * 1.01, 0.5, 7);
    struct gaps g = measure(&p);
    ck_assert_double_gt(fabs(g.mean * RATE - 1), 4 * 0.5 / sqrt(N));
    ck_assert_double_gt(distance_from_gamma(&g, 4, RATE), KS_BOUND);
    free(g.s);
    arrival_gamma(&p, RATE, 0.51, 7);
    g = measure(&p);
    ck_assert_double_gt(distance_from_gamma(&g, 4, RATE), KS_BOUND);
    free(g.s);
}
END_TEST

int main(void) {
    Suite *s = suite_create("arrivals");
    TCase *t = tcase_create("arrivals");
    tcase_add_test(t, poisson_gaps_are_exponential);
    tcase_add_loop_test(t, gamma_gaps_have_their_mean_and_variation, 0, N_CVS);
    tcase_add_test(t, gaps_of_cv_1_are_those_of_poisson);
    tcase_add_loop_test(t, on_off_gaps_are_those_of_an_interrupted_poisson_process, 0, 4);
    tcase_add_test(t, on_off_is_on_at_time_0_for_its_share_of_the_seeds);
    tcase_add_test(t, M10_nothing_is_rescaled_to_end_at_n_over_rate);
    tcase_add_test(t, high_and_low_rates_keep_their_mean);
    tcase_add_test(t, time_ends_without_wrapping);
    tcase_add_test(t, exp_of_minus_x_in_fixed_point);
    tcase_add_test(t, a_biased_generator_fails_the_bounds);
    suite_add_tcase(s, t);
    return check_main(s);
}
