/* test_lab02_oracle.c: lab 02's oracle against numbers worked out on paper, from the definitions of
 * objective/point.h. Every grade depends on the oracle, so it is checked independently. */
#include "lab02/oracle.h"

#include "base/clock.h"
#include "testing/check_main.h"

#include <math.h>
#include <string.h>

static const struct point_limits none = {INT64_MAX, INT64_MAX, INT64_MAX};

static struct point_request done(int64_t arrival, int64_t first, int64_t end, int32_t tokens) {
    return (struct point_request){arrival, arrival, first, end, tokens, tokens, POINT_DONE};
}

/* ---- one request ----------------------------------------------------------------------------- */

START_TEST(classes_in_their_order) {
    struct point_request r = {0, 0, 5, 9, 12, 20, POINT_DONE};
    ck_assert_int_eq(lab02_oracle_class(&r), POINT_TRUNCATED);
    r.end = POINT_FAILED; /* broken, not cut */
    ck_assert_int_eq(lab02_oracle_class(&r), POINT_BROKEN);
    r.end = POINT_REJECTED;
    ck_assert_int_eq(lab02_oracle_class(&r), POINT_SHED);
    r = (struct point_request){0, 0, 5, 9, 20, 20, POINT_DONE};
    ck_assert_int_eq(lab02_oracle_class(&r), POINT_COMPLETE);
    r.output_tokens = 25;
    ck_assert_int_eq(lab02_oracle_class(&r), POINT_COMPLETE);
}
END_TEST

START_TEST(intervals_of_one_request) {
    struct point_intervals iv;
    /* arrives at 10, admitted at 14, first token at 30, last at 70, 5 tokens: 4, 20, 40 / 4, 60 */
    struct point_request r = {10, 14, 30, 70, 5, 5, POINT_DONE};
    lab02_oracle_point_intervals(&r, &iv);
    ck_assert_int_eq(iv.queue_delay_ns, 4);
    ck_assert_int_eq(iv.ttft_ns, 20);
    ck_assert_int_eq(iv.tpot_ns, 10);
    ck_assert_int_eq(iv.e2e_ns, 60);
    r.output_tokens = r.wanted_tokens = 1;
    lab02_oracle_point_intervals(&r, &iv);
    ck_assert_int_eq(iv.tpot_ns, -1);
    ck_assert_int_eq(iv.e2e_ns, 60);
    r = (struct point_request){10, 14, 30, 70, 5, 9, POINT_FAILED};
    lab02_oracle_point_intervals(&r, &iv);
    ck_assert_int_eq(iv.ttft_ns, 20);
    ck_assert_int_eq(iv.tpot_ns, -1);
    ck_assert_int_eq(iv.e2e_ns, -1);
    r = (struct point_request){10, -1, -1, 10, 0, 9, POINT_REJECTED};
    lab02_oracle_point_intervals(&r, &iv);
    ck_assert(iv.queue_delay_ns == -1 && iv.ttft_ns == -1 && iv.tpot_ns == -1 && iv.e2e_ns == -1);
}
END_TEST

START_TEST(tpot_rounds_to_nearest) {
    static const int64_t cases[][3] = {{14, 5, 4}, {13, 5, 3}, {10, 5, 3}, {9, 5, 2}, {7, 4, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) { /* span, tokens, tpot */
        struct point_request r = done(0, 100, 100 + cases[i][0], (int32_t)cases[i][1]);
        struct point_intervals iv;
        lab02_oracle_point_intervals(&r, &iv);
        ck_assert_int_eq(iv.tpot_ns, cases[i][2]);
    }
}
END_TEST

/* ---- a window -------------------------------------------------------------------------------- */

/* The window is 10 to 30 ms. a came before it and ends in it; b is in it; c arrives in it and ends
 * after it; d is refused. */
START_TEST(a_window_by_hand) {
    const int64_t ms = NS_PER_MS;
    struct point_request list[] = {done(4 * ms, 6 * ms, 14 * ms, 3),
                                   done(12 * ms, 20 * ms, 28 * ms, 2),
                                   done(20 * ms, 40 * ms, 40 * ms, 1),
                                   {22 * ms, -1, -1, 22 * ms, 0, 8, POINT_REJECTED}};
    struct operating_point p;
    lab02_oracle_measure(list, 4, 10 * ms, 30 * ms, &none, &p);
    ck_assert_int_eq(p.requests, 3);
    ck_assert_int_eq(p.complete, 2);
    ck_assert_int_eq(p.shed, 1);
    ck_assert_int_eq(p.good, 2);
    ck_assert_double_eq_tol(p.offered_rps, 150, 1e-9);
    ck_assert_double_eq_tol(p.throughput_rps, 100, 1e-9);
    ck_assert_double_eq_tol(p.good_rps, 100, 1e-9);
    ck_assert_double_eq_tol(p.mean_latency_ns, 18e6, 1e-3);
    ck_assert_double_eq_tol(p.mean_in_system, 1.5, 1e-12);
    ck_assert(p.ttft_p99.present && p.ttft_p99.infinite);
    ck_assert_uint_eq(p.ttft_p99.n, 3);
    ck_assert_int_eq(p.ttft_p50.ns, 20 * ms); /* 8, 20 and infinity: the second of three */
    ck_assert_uint_eq(p.tpot_p50.n, 2);       /* b and d: c has one token */
    ck_assert_int_eq(p.tpot_p50.ns, 8 * ms);
    /* limits are strict: b's TTFT is 8 ms, c's 20 */
    struct point_limits l = {20 * ms, INT64_MAX, INT64_MAX};
    lab02_oracle_measure(list, 4, 10 * ms, 30 * ms, &l, &p);
    ck_assert_int_eq(p.good, 1);
    l = (struct point_limits){INT64_MAX, 8 * ms, INT64_MAX};
    lab02_oracle_measure(list, 4, 10 * ms, 30 * ms, &l, &p);
    ck_assert_int_eq(p.good, 1); /* c has no TPOT that could miss a limit */
}
END_TEST

START_TEST(ends_of_the_window) {
    struct point_request list[] = {done(9, 9, 9, 1), done(10, 10, 10, 1), done(19, 19, 19, 1),
                                   done(20, 20, 20, 1)};
    struct operating_point p;
    lab02_oracle_measure(list, 4, 10, 20, &none, &p);
    ck_assert_int_eq(p.requests, 2);
    ck_assert_double_eq_tol(p.throughput_rps, 2 / 10e-9, 1);
    lab02_oracle_measure(list, 0, 10, 20, &none, &p);
    ck_assert_int_eq(p.requests, 0);
    ck_assert(isnan(p.mean_latency_ns));
    ck_assert(!p.ttft_p99.present && p.ttft_p99.few);
    ck_assert(p.stable);
}
END_TEST

START_TEST(failures_are_infinite) {
    struct point_request list[100];
    struct operating_point p;
    for (int bad = 1; bad <= 2; bad++) {
        for (int i = 0; i < 100; i++) {
            list[i] = done(i, i + 1 + i, i + 200, 2);
            if (i < bad) list[i].wanted_tokens = 3; /* truncated */
        }
        lab02_oracle_measure(list, 100, 0, 1000, &none, &p);
        ck_assert(p.ttft_p99.infinite == (bad == 2)); /* the 99th of 100 */
        ck_assert_uint_eq(p.ttft_p99.failed, (size_t)bad);
        if (bad == 1) ck_assert_int_eq(p.ttft_p99.ns, 100);
        ck_assert(!p.ttft_p99.few);
    }
}
END_TEST

/* ---- stable ---------------------------------------------------------------------------------- */

/* 50 requests arrive in the second half, [500, 1000), and `ends` of them end there; the others come
 * in its middle and stay. */
static bool fifty(int ends) {
    struct point_request list[50];
    for (int i = 0; i < 50; i++) {
        int64_t t = 500 + i * 10;
        bool stays = i >= 25 && i < 25 + 50 - ends;
        list[i] = done(t, t, stays ? 2000 : t + 1, 1);
    }
    return lab02_oracle_stable(list, 50, 0, 1000, NULL);
}

START_TEST(stable_by_share) {
    ck_assert(fifty(50));
    ck_assert(fifty(49)); /* 98 % */
    ck_assert(!fifty(48));
}
END_TEST

START_TEST(slope_and_its_error) {
    /* 0, 1, 0, 1: mean 1/2, x - mean -3/2 .. 3/2, Sxx 5, Sxy (3 - 1 - 1 + 3) / 4 = 1, slope 1/5;
     * residuals -1/5, 3/5, -3/5, 1/5: sum of squares 4/5; error sqrt(4/5 / 2 / 5) = sqrt(2/25) */
    double zigzag[] = {0, 1, 0, 1}, line[] = {1, 2, 3, 4}, down[] = {4, 3, 2, 1},
           flat[] = {7, 7, 7, 7};
    ck_assert_double_eq_tol(lab02_oracle_slope_over_error(zigzag, 4), 0.2 / sqrt(0.08), 1e-12);
    ck_assert(isinf(lab02_oracle_slope_over_error(line, 4)) &&
              lab02_oracle_slope_over_error(line, 4) > 0);
    ck_assert(isinf(lab02_oracle_slope_over_error(down, 4)) &&
              lab02_oracle_slope_over_error(down, 4) < 0);
    ck_assert_double_eq(lab02_oracle_slope_over_error(flat, 4), 0);
}
END_TEST

/* One request arrives at each of the 32 instants, and none leaves: a rise without any error. */
START_TEST(a_straight_rise_is_not_stable) {
    struct point_request list[32];
    for (int i = 0; i < 32; i++) list[i] = done(3200 + 100 * i, 9000, 9000, 1);
    double rise;
    ck_assert(!lab02_oracle_stable(list, 32, 0, 6400, &rise));
    ck_assert(isinf(rise));
    for (int i = 0; i < 32; i++) list[i] = done(6399, 9000, 9000, 1); /* after the last reading */
    ck_assert(lab02_oracle_stable(list, 32, 0, 6400, &rise));
    ck_assert_double_eq(rise, 0);
}
END_TEST

/* ---- points ---------------------------------------------------------------------------------- */

static struct operating_point at(double offered, double throughput, double latency_ms,
                                 bool stable) {
    return (struct operating_point){.offered_rps = offered,
                                    .requests = 10,
                                    .throughput_rps = throughput,
                                    .mean_latency_ns = latency_ms * 1e6,
                                    .ttft_p99 = {true, false, 100, 10, 0, true},
                                    .stable = stable};
}

START_TEST(verdicts) {
    struct operating_point p = at(1, 1, 1, true);
    struct point_limits l = {101, 50, INT64_MAX};
    ck_assert_int_eq(lab02_oracle_verdict(&p, &l), SLO_MET); /* no TPOT: no limit on it */
    l.ttft_below_ns = 100;
    ck_assert_int_eq(lab02_oracle_verdict(&p, &l), SLO_MISSED);
    p.ttft_p99.infinite = true;
    ck_assert_int_eq(lab02_oracle_verdict(&p, &none), SLO_MISSED);
    p = at(1, 1, 1, false);
    ck_assert_int_eq(lab02_oracle_verdict(&p, &none), SLO_MISSED);
    p = at(1, 1, 1, true);
    p.ttft_p99 = (struct percentile){.few = true};
    ck_assert_int_eq(lab02_oracle_verdict(&p, &none), SLO_NOT_COMPUTABLE);
    p.requests = 0; /* checked first */
    p.stable = false;
    ck_assert_int_eq(lab02_oracle_verdict(&p, &none), SLO_NOT_COMPUTABLE);
    p = at(1, 1, 1, true);
    p.e2e_p99 = (struct percentile){true, false, 500, 10, 0, true};
    l = (struct point_limits){INT64_MAX, INT64_MAX, 500};
    ck_assert_int_eq(lab02_oracle_verdict(&p, &l), SLO_MISSED);
}
END_TEST

/* Loads of 10 .. 40 with mean latencies of 10, 11, 20, 60 ms: powers 1, 1.82, 1.5, 0.65 each ms. */
START_TEST(knee_saturation_regions) {
    struct operating_point c[] = {at(10, 10, 10, true), at(20, 20, 11, true), at(30, 30, 20, true),
                                  at(40, 39, 60, false)};
    ck_assert_uint_eq(lab02_oracle_knee(c, 4), 1);
    ck_assert_uint_eq(lab02_oracle_saturation(c, 4), 2);
    static const enum curve_region want[] = {REGION_UNDERLOADED, REGION_KNEE, REGION_KNEE,
                                             REGION_OVERLOADED};
    for (size_t i = 0; i < 4; i++) ck_assert_int_eq(lab02_oracle_region(c, 4, i), want[i]);
    c[0].stable = false;
    ck_assert_int_eq(lab02_oracle_region(c, 4, 0), REGION_OVERLOADED);
    c[3] = c[1]; /* the same power twice: the first is the knee */
    ck_assert_uint_eq(lab02_oracle_knee(c, 4), 1);
    for (size_t i = 0; i < 4; i++) c[i].mean_latency_ns = (double)NAN, c[i].stable = false;
    ck_assert_uint_eq(lab02_oracle_knee(c, 4), 4);
    ck_assert_uint_eq(lab02_oracle_saturation(c, 4), 4);
    ck_assert_uint_eq(lab02_oracle_knee(c, 0), 0);
    c[2].mean_latency_ns = 0; /* division by 0 */
    ck_assert_uint_eq(lab02_oracle_knee(c, 4), 4);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lab 02: oracle");
    TCase *tc = tcase_create("by hand");
    tcase_add_test(tc, classes_in_their_order);
    tcase_add_test(tc, intervals_of_one_request);
    tcase_add_test(tc, tpot_rounds_to_nearest);
    tcase_add_test(tc, a_window_by_hand);
    tcase_add_test(tc, ends_of_the_window);
    tcase_add_test(tc, failures_are_infinite);
    tcase_add_test(tc, stable_by_share);
    tcase_add_test(tc, slope_and_its_error);
    tcase_add_test(tc, a_straight_rise_is_not_stable);
    tcase_add_test(tc, verdicts);
    tcase_add_test(tc, knee_saturation_regions);
    suite_add_tcase(suite, tc);
    return check_main(suite);
}
