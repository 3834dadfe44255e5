/* test_confidence.c: rank intervals against closed forms and against their definition. */
#include "report/confidence.h"
#include "testing/check_main.h"

#include <math.h>

/* By the binomial distribution in closed form, and for 100 by R: pbinom(39, 100, .5) is 0.0176. */
START_TEST(medians_by_the_closed_form) {
    struct rank_interval r = rank_interval(100, 50000, 0.95);
    ck_assert(r.lo_known && r.hi_known && r.lo == 40 && r.hi == 61);
    ck_assert_double_eq_tol(r.coverage, 0.9648, 0.0001);
    r = rank_interval(10, 50000, 0.95); /* ranks 2 and 9 keep 97.85 % */
    ck_assert(r.lo == 2 && r.hi == 9);
    ck_assert_double_eq_tol(r.coverage, 0.978516, 0.000001);
    r = rank_interval(6, 50000, 0.95); /* the extremes keep 1 - 2 / 2^6 */
    ck_assert(r.lo == 1 && r.hi == 6);
    ck_assert_double_eq_tol(r.coverage, 1 - 2.0 / 64, 1e-12);
    ck_assert(!rank_interval(5, 50000, 0.95).lo_known);
}
END_TEST

/* The largest of n lies above p99 with probability 1 - 0.99^n, at least 0.975 from n = 368 on. */
START_TEST(a_p99_needs_368_requests) {
    ck_assert(!rank_interval(367, 99000, 0.95).hi_known);
    ck_assert(rank_interval(368, 99000, 0.95).hi_known);
    ck_assert_uint_eq(rank_interval(368, 99000, 0.95).hi, 368);
    ck_assert(rank_interval(367, 99000, 0.95).lo_known);
}
END_TEST

/* Each side misses by at most 2.5 %, and the next narrower rank would miss by more. */
START_TEST(ranks_are_the_narrowest) {
    static const int32_t milli[] = {1000, 50000, 90000, 99000, 99900};
    for (size_t n = 1; n < 1500; n += 37)
        for (size_t k = 0; k < sizeof milli / sizeof *milli; k++) {
            double p = milli[k] / 100000.0, below = 0, at = pow(1 - p, (double)n);
            struct rank_interval r = rank_interval(n, milli[k], 0.95);
            size_t lo = 0;
            for (size_t x = 0; x < n && below + at <= 0.025; x++) { /* by the recurrence of terms */
                below += at;
                lo = x + 1;
                at *= (double)(n - x) / (double)(x + 1) * p / (1 - p);
            }
            ck_assert_msg(r.lo == lo || at == 0, "n %zu, %d: %zu, not %zu", n, milli[k], r.lo, lo);
            if (r.lo_known && r.hi_known) ck_assert(r.lo <= r.hi && r.coverage >= 0.95);
        }
}
END_TEST

START_TEST(nothing_is_known_of_nothing) {
    struct rank_interval none = rank_interval(0, 50000, 0.95),
                         most = rank_interval(9, 100000, 0.95);
    ck_assert(!none.lo_known && !none.hi_known && !most.lo_known && !most.hi_known);
}
END_TEST

START_TEST(a_million_requests) {
    struct rank_interval r = rank_interval(1000000, 99000, 0.95);
    /* the normal approximation: 990000 -+ 1.96 * sqrt(1e6 * 0.99 * 0.01) = 195 */
    ck_assert(r.lo > 989800 && r.lo < 989810 && r.hi > 990190 && r.hi < 990200);
}
END_TEST

int main(void) {
    Suite *s = suite_create("confidence");
    TCase *t = tcase_create("confidence");
    tcase_add_test(t, medians_by_the_closed_form);
    tcase_add_test(t, a_p99_needs_368_requests);
    tcase_add_test(t, ranks_are_the_narrowest);
    tcase_add_test(t, nothing_is_known_of_nothing);
    tcase_add_test(t, a_million_requests);
    suite_add_tcase(s, t);
    return check_main(s);
}
