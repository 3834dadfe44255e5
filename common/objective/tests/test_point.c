/* test_point.c: operating points, the knee and the search for the highest load, on cases small
 * enough to work out by hand. */
#include "base/clock.h"
#include "base/rng.h"
#include "objective/point.h"
#include "testing/check_main.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct point_limits none = {INT64_MAX, INT64_MAX, INT64_MAX};

/* A request in ms; -1 for a time that it doesn't have. */
static struct point_request request(int arrival, int admitted, int first, int end, int output,
                                    int wanted, enum point_end how) {
    return (struct point_request){arrival * NS_PER_MS,
                                  admitted < 0 ? -1 : admitted * NS_PER_MS,
                                  first < 0 ? -1 : first * NS_PER_MS,
                                  end * NS_PER_MS,
                                  output,
                                  wanted,
                                  how};
}

static struct operating_point measure(const struct point_request *list, size_t n, int from_ms,
                                      int to_ms, struct point_limits limits) {
    struct operating_point p;
    struct err e;
    memset(&p, 0x5a, sizeof p);
    ck_assert_int_eq(
        point_measure(list, n, from_ms * NS_PER_MS, to_ms * NS_PER_MS, &limits, &p, &e), 0);
    ck_assert_int_eq(p.complete + p.shed + p.truncated + p.broken, p.requests);
    return p;
}

/* ---- one request ---- */

START_TEST(classes) {
    struct point_request r = request(0, 1, 2, 3, 5, 5, POINT_DONE);
    ck_assert_int_eq(point_classify(&r), POINT_COMPLETE);
    r.output_tokens = 6; /* more than it wanted isn't a truncation */
    ck_assert_int_eq(point_classify(&r), POINT_COMPLETE);
    r.output_tokens = 4;
    ck_assert_int_eq(point_classify(&r), POINT_TRUNCATED);
    r.end = POINT_FAILED; /* few tokens, but not because it was cut */
    ck_assert_int_eq(point_classify(&r), POINT_BROKEN);
    r.end = POINT_REJECTED; /* preempted, then refused: its tokens don't count */
    ck_assert_int_eq(point_classify(&r), POINT_SHED);
    r.output_tokens = 5;
    ck_assert_int_eq(point_classify(&r), POINT_SHED);
}
END_TEST

static void expect_intervals(struct point_request r, int64_t queue, int64_t ttft, int64_t tpot,
                             int64_t e2e) {
    struct point_intervals iv = {7, 7, 7, 7};
    point_intervals(&r, &iv);
    ck_assert_int_eq(iv.queue_delay_ns, queue);
    ck_assert_int_eq(iv.ttft_ns, ttft);
    ck_assert_int_eq(iv.tpot_ns, tpot);
    ck_assert_int_eq(iv.e2e_ns, e2e);
}

START_TEST(intervals_of_one_request) {
    const int64_t ms = NS_PER_MS;
    expect_intervals(request(10, 14, 30, 70, 5, 5, POINT_DONE), 4 * ms, 20 * ms, 10 * ms, 60 * ms);
    /* cut short is done; the achieved length divides */
    expect_intervals(request(10, 14, 30, 70, 5, 9, POINT_DONE), 4 * ms, 20 * ms, 10 * ms, 60 * ms);
    expect_intervals(request(0, 0, 3, 4, 2, 2, POINT_DONE), 0, 3 * ms, 1 * ms, 4 * ms);
    expect_intervals(request(0, 1, 3, 3, 1, 1, POINT_DONE), 1 * ms, 3 * ms, -1, 3 * ms);
    expect_intervals(request(0, 1, -1, 3, 0, 0, POINT_DONE), 1 * ms, -1, -1, 3 * ms);
    expect_intervals(request(0, -1, -1, 3, 0, 5, POINT_REJECTED), -1, -1, -1, -1);
    expect_intervals(request(0, 1, 2, 9, 3, 5, POINT_REJECTED), 1 * ms, 2 * ms, -1, -1);
    expect_intervals(request(0, 1, 2, 9, 3, 5, POINT_FAILED), 1 * ms, 2 * ms, -1, -1);
    /* rounded to nearest: 5 / 2 is 3, 10 / 3 is 3, 11 / 3 is 4 */
    struct point_request r = {0, 0, 0, 5, 3, 3, POINT_DONE};
    expect_intervals(r, 0, 0, 3, 5);
    r.end_ns = 10, r.output_tokens = 4;
    expect_intervals(r, 0, 0, 3, 10);
    r.end_ns = 11;
    expect_intervals(r, 0, 0, 4, 11);
}
END_TEST

/* ---- a window ---- */

START_TEST(an_empty_window) {
    for (int n = 0; n < 2; n++) {
        struct point_request elsewhere = request(50, 50, 51, 52, 2, 2, POINT_DONE);
        struct operating_point p = measure(n ? &elsewhere : NULL, (size_t)n, 0, 10, none);
        ck_assert_int_eq(p.requests, 0);
        ck_assert_double_eq(p.offered_rps, 0);
        ck_assert_double_eq(p.throughput_rps, 0);
        ck_assert(isnan(p.mean_latency_ns));
        ck_assert_double_eq(p.mean_in_system, 0);
        ck_assert(!p.ttft_p99.present && !p.tpot_p50.present && !p.e2e_p50.present);
        ck_assert(p.stable);
        ck_assert_int_eq(point_verdict(&p, &none), SLO_NOT_COMPUTABLE);
    }
}
END_TEST

START_TEST(all_shed) {
    struct point_request list[3];
    for (int i = 0; i < 3; i++) list[i] = request(i, -1, -1, i, 0, 5, POINT_REJECTED);
    struct operating_point p = measure(list, 3, 0, 100, none);
    ck_assert(p.requests == 3 && p.shed == 3 && p.good == 0);
    ck_assert_double_eq_tol(p.offered_rps, 30, 1e-9);
    ck_assert_double_eq(p.throughput_rps, 0);
    ck_assert(isnan(p.mean_latency_ns));
    ck_assert(p.ttft_p50.infinite && p.tpot_p50.infinite && p.e2e_p99.infinite &&
              p.queue_delay_p99.infinite);
    ck_assert(p.stable); /* nothing piles up, and nothing is achieved */
    ck_assert_int_eq(point_verdict(&p, &none), SLO_MISSED);
    ck_assert_uint_eq(curve_knee(&p, 1), 1);
}
END_TEST

/* Four requests by hand, window 10 .. 30 ms:
 *   a  arrives before the window, ends within
 *   b  arrives and ends within, 2 tokens: TPOT is end - first
 *   c  arrives within, ends after it, 1 token: no TPOT
 *   d  arrives within, refused at once */
START_TEST(stragglers_over_both_ends) {
    struct point_request list[] = {
        request(12, 13, 20, 28, 2, 2, POINT_DONE), request(4, 5, 6, 14, 3, 3, POINT_DONE),
        request(22, -1, -1, 22, 0, 4, POINT_REJECTED), request(20, 24, 40, 40, 1, 1, POINT_DONE)};
    struct point_limits limits = {15 * NS_PER_MS, INT64_MAX, INT64_MAX};
    struct operating_point p = measure(list, 4, 10, 30, limits);
    ck_assert_int_eq(p.requests, 3);
    ck_assert(p.complete == 2 && p.shed == 1);
    ck_assert_double_eq_tol(p.offered_rps, 150, 1e-9);
    ck_assert_double_eq_tol(p.throughput_rps, 100, 1e-9);        /* a and b */
    ck_assert_double_eq_tol(p.mean_latency_ns, 18e6, 1e-3);      /* (16 + 20) / 2 */
    ck_assert_double_eq_tol(p.mean_in_system, 30.0 / 20, 1e-12); /* 16 + 4 + 10 + 0 */
    ck_assert_int_eq(p.good, 1);                                 /* c's TTFT is 20 */
    ck_assert_double_eq_tol(p.good_rps, 50, 1e-9);
    ck_assert(p.queue_delay_p99.infinite && p.queue_delay_p99.n == 3 &&
              p.queue_delay_p99.failed == 1);
    ck_assert(p.ttft_p50.n == 3 && p.ttft_p50.ns == 20 * NS_PER_MS);
    ck_assert(p.e2e_p50.ns == 20 * NS_PER_MS && p.e2e_p99.infinite);
    ck_assert(p.tpot_p50.n == 2 && p.tpot_p50.ns == 8 * NS_PER_MS && p.tpot_p99.infinite);
    ck_assert(p.ttft_p99.few);
}
END_TEST

START_TEST(the_ends_of_a_window) {
    struct point_request list[] = {request(10, 10, 10, 20, 2, 2, POINT_DONE),
                                   request(20, 20, 20, 30, 2, 2, POINT_DONE)};
    struct operating_point p = measure(list, 2, 10, 20, none);
    ck_assert_int_eq(p.requests, 1); /* the one at 20 is in the next window */
    ck_assert_double_eq(p.throughput_rps, 0);
    ck_assert_double_eq(p.mean_in_system, 1);
    p = measure(list, 2, 20, 30, none);
    ck_assert_int_eq(p.requests, 1);
    ck_assert_double_eq_tol(p.throughput_rps, 100, 1e-9);
}
END_TEST

/* 100,000 requests with latencies of 0, 1, 2, ... ns, backwards: each percentile is off by one when
 * its rank is. */
START_TEST(percentiles_to_the_rank) {
    enum { N = 100000 };
    struct point_request *list = malloc(N * sizeof *list);
    for (int64_t i = 0; i < N; i++)
        list[N - 1 - i] = (struct point_request){7, 7 + i, 7 + i, 7 + 2 * i, 2, 2, POINT_DONE};
    struct operating_point p = measure(list, N, 0, 1, none);
    ck_assert(p.requests == N && p.good == N);
    ck_assert_int_eq(p.queue_delay_p99.ns, 98999);
    ck_assert_int_eq(p.ttft_p50.ns, 49999);
    ck_assert_int_eq(p.ttft_p99.ns, 98999);
    ck_assert_int_eq(p.tpot_p50.ns, 49999);
    ck_assert_int_eq(p.tpot_p99.ns, 98999);
    ck_assert_int_eq(p.e2e_p50.ns, 2 * 49999);
    ck_assert_int_eq(p.e2e_p99.ns, 2 * 98999);
    ck_assert(!p.ttft_p99.few);
    free(list);
}
END_TEST

START_TEST(limits_are_strict) {
    struct point_request list[] = {request(0, 0, 10, 20, 3, 3, POINT_DONE),
                                   request(1, 1, 11, 11, 1, 1, POINT_DONE),
                                   request(2, 2, -1, 12, 0, 0, POINT_DONE)};
    const int64_t ms = NS_PER_MS;
    ck_assert_int_eq(measure(list, 3, 0, 50, none).good, 3);
    ck_assert_int_eq(
        measure(list, 3, 0, 50, (struct point_limits){10 * ms, INT64_MAX, INT64_MAX}).good, 0);
    ck_assert_int_eq(
        measure(list, 3, 0, 50, (struct point_limits){10 * ms + 1, INT64_MAX, INT64_MAX}).good, 2);
    /* no TPOT, no limit on it */
    ck_assert_int_eq(
        measure(list, 3, 0, 50, (struct point_limits){INT64_MAX, 5 * ms, INT64_MAX}).good, 2);
    ck_assert_int_eq(
        measure(list, 3, 0, 50, (struct point_limits){INT64_MAX, 5 * ms + 1, INT64_MAX}).good, 3);
    ck_assert_int_eq(
        measure(list, 3, 0, 50, (struct point_limits){INT64_MAX, INT64_MAX, 20 * ms}).good, 2);
    ck_assert_int_eq(measure(list, 3, 0, 50, none).ttft_p50.n, 2); /* no token, no TTFT */
    list[1].arrival_ns = list[1].first_token_ns;                   /* at once is a time, too */
    ck_assert_int_eq(
        measure(list + 1, 1, 0, 50, (struct point_limits){1, INT64_MAX, INT64_MAX}).good, 1);
}
END_TEST

START_TEST(order_and_shift_change_nothing) {
    struct rng r;
    rng_seed(&r, 5);
    struct point_request list[200], other[200];
    for (int i = 0; i < 200; i++) {
        int at = (int)rng_below(&r, 900), n = (int)rng_below(&r, 5);
        list[i] = request(at, at + 1, n ? at + 3 : -1, at + 3 + n * (int)rng_below(&r, 9), n,
                          n + (rng_below(&r, 9) == 0), (enum point_end)(rng_below(&r, 12) / 5));
        other[199 - i] = list[i];
    }
    struct operating_point a = measure(list, 200, 100, 800, none);
    struct operating_point b = measure(other, 200, 100, 800, none);
    ck_assert(a.requests == b.requests && a.good == b.good && a.stable == b.stable);
    ck_assert(a.e2e_p99.ns == b.e2e_p99.ns && a.tpot_p50.ns == b.tpot_p50.ns);
    ck_assert_double_eq_tol(a.mean_in_system, b.mean_in_system, 1e-9);
    /* Little's law over a window that holds all: mean in system = sum of stays / window */
    double stays = 0;
    for (int i = 0; i < 200; i++) stays += (double)(list[i].end_ns - list[i].arrival_ns);
    ck_assert_double_eq_tol(measure(list, 200, 0, 1000, none).mean_in_system, stays / 1e9, 1e-9);
}
END_TEST

/* ---- stable ---- */

/* n arrivals, one a ms, over a window of n ms. */
static bool stable_with(int n, int (*stays_ms)(int i)) {
    struct point_request *list = malloc((size_t)n * sizeof *list);
    for (int i = 0; i < n; i++) list[i] = request(i, i, i, i + stays_ms(i), 1, 1, POINT_DONE);
    bool stable = point_stable(list, (size_t)n, 0, n * NS_PER_MS);
    free(list);
    return stable;
}
static int short_stay(int i) {
    (void)i;
    return 3;
}
static int longer_and_longer(int i) {
    return i;
}
static int one_in_fifty_stays(int i) {
    return i % 50 == 0 ? 100000 : 0;
}
static int one_in_forty_stays(int i) {
    return i % 40 == 0 ? 100000 : 0;
}
static int a_hundred_in_the_system(int i) {
    (void)i;
    return 100;
}

START_TEST(stability) {
    ck_assert(stable_with(1000, short_stay));
    ck_assert(stable_with(1000, a_hundred_in_the_system));
    ck_assert(!stable_with(1000, longer_and_longer));
    ck_assert(stable_with(10000, one_in_fifty_stays)); /* exactly 98 % */
    ck_assert(!stable_with(10000, one_in_forty_stays));
}
END_TEST

/* 900 requests in the first second, 100 in the next nine, and a server that ends 50 a second: the
 * handout's example. */
START_TEST(an_early_burst_is_no_stable_load) {
    struct point_request list[1000];
    for (int i = 0; i < 1000; i++) {
        int at_ms = i < 900 ? i : 1000 + 90 * (i - 900);
        list[i] = request(at_ms, at_ms, at_ms, 20 * (i + 1) > at_ms ? 20 * (i + 1) : at_ms, 1, 1,
                          POINT_DONE);
    }
    const int64_t to = 10000 * NS_PER_MS;
    ck_assert(!measure(list, 1000, 0, 10000, none).stable);
    /* without the rule it would pass */
    for (int i = 900; i < 1000; i++) list[i].end_ns = list[i].arrival_ns;
    ck_assert(point_stable(list, 1000, 0, to));
    ck_assert(!measure(list, 1000, 0, 10000, none).stable);
    /* exactly 90 % end within the window, in any way; those that came before it count */
    for (int i = 0; i < 900; i++) list[i].end_ns = i < 100 ? to : list[i].arrival_ns;
    ck_assert(measure(list, 1000, 0, 10000, none).stable);
    list[500].end = POINT_REJECTED;
    ck_assert(measure(list, 1000, 0, 10000, none).stable);
    list[500].end_ns = to;
    ck_assert(!measure(list, 1000, 0, 10000, none).stable);
    list[100].arrival_ns = list[100].end_ns = 0;
    ck_assert(!measure(list, 1000, 1, 10000, none).stable);
}
END_TEST

/* In the second half, 320 .. 640 ns, the samples lie at 320, 330, ... */
START_TEST(a_line_without_error_is_no_accident) {
    struct point_request list[32];
    for (int i = 0; i < 32; i++)
        list[i] = (struct point_request){320 + 10 * i, -1, -1, 9000, 0, 1, POINT_FAILED};
    ck_assert(!point_stable(list, 32, 0, 640)); /* 1, 2, 3, ... 32: slope 1, error 0 */
    /* nothing arrives or ends in the half: constant, and stable by the first rule */
    for (int i = 0; i < 32; i++) list[i].arrival_ns = 5;
    ck_assert(point_stable(list, 32, 0, 640));
    /* the half begins in the middle of the window, not of the clock */
    for (int i = 0; i < 32; i++) list[i].arrival_ns = 1000 + 320 + 10 * i;
    ck_assert(!point_stable(list, 32, 1000, 1640));
    ck_assert(point_stable(list, 32, 1000, 12000)); /* all of them came before 6500 */
    for (int i = 0; i < 32; i++) list[i].arrival_ns = 5;
    /* one arrival in the last moment, seen by no sample: flat */
    list[0].arrival_ns = 639;
    ck_assert(point_stable(list, 32, 0, 640));
    /* at the sample's very instant it is seen; a step at the end of 32 samples is within its error
     * (t = 1.7), one half-way isn't */
    list[0].arrival_ns = 630;
    ck_assert(point_stable(list, 32, 0, 640));
    list[0].arrival_ns = 480;
    ck_assert(!point_stable(list, 32, 0, 640));
    /* a fall isn't a rise: five end where the samples see it, ten arrive where they don't */
    for (int i = 0; i < 10; i++) list[i].arrival_ns = 639;
    for (int i = 10; i < 15; i++) list[i].end_ns = 480;
    ck_assert(point_stable(list, 32, 0, 640));
}
END_TEST

/* The definition once more, in doubles and with means: agrees wherever it isn't a matter of their
 * last bits. Returns b / s; below 0 for a line that doesn't rise. */
static double rise_of(const double *y) {
    double mx = 0, my = 0, sxx = 0, sxy = 0, syy = 0;
    for (int i = 0; i < POINT_SAMPLES; i++)
        mx += (double)i / POINT_SAMPLES, my += y[i] / POINT_SAMPLES;
    for (int i = 0; i < POINT_SAMPLES; i++) {
        sxx += (i - mx) * (i - mx);
        sxy += (i - mx) * (y[i] - my);
        syy += (y[i] - my) * (y[i] - my);
    }
    if (sxy <= 0) return -1;
    return sxy / sxx / sqrt((syy - sxy * sxy / sxx) / ((POINT_SAMPLES - 2) * sxx));
}

START_TEST(a_rise_beyond_three_standard_errors) {
    struct rng r;
    rng_seed(&r, 8);
    int yes = 0, no = 0;
    for (int trial = 0; trial < 3000; trial++) {
        /* second half 320 .. 640, sampled every 10; half of the ends come after it */
        struct point_request list[40];
        double y[POINT_SAMPLES] = {0};
        int n = 4 + (int)rng_below(&r, 36), ended = 0, arrived = 0;
        for (int i = 0; i < n; i++) {
            int64_t at = 10 * (int64_t)rng_below(&r, 65),
                    end = at + 10 * (int64_t)rng_below(&r, 60);
            list[i] = (struct point_request){at, at, at, end, 1, 1, POINT_DONE};
            arrived += at >= 320 && at < 640;
            ended += end >= 320 && end < 640;
            for (int k = 0; k < POINT_SAMPLES; k++)
                y[k] += (at <= 320 + 10 * k) - (end <= 320 + 10 * k);
        }
        double rise = rise_of(y);
        if (ended * 100 >= arrived * 98 || fabs(rise - 3) < 1e-9) continue;
        bool stable = rise <= 3;
        ck_assert_int_eq(point_stable(list, (size_t)n, 0, 640), stable);
        yes += stable, no += !stable;
    }
    ck_assert(yes > 100 && no > 100);
}
END_TEST

/* ---- curves ---- */

static struct operating_point point(double offered, double throughput, double latency_ms,
                                    bool stable) {
    return (struct operating_point){.offered_rps = offered,
                                    .requests = 1000,
                                    .throughput_rps = throughput,
                                    .mean_latency_ns = latency_ms * 1e6,
                                    .stable = stable};
}

START_TEST(verdict_of_a_point) {
    const int64_t ms = NS_PER_MS;
    struct operating_point p = {.requests = 10, .stable = true};
    struct point_limits l = {100 * ms, 10 * ms, 1000 * ms};
    ck_assert_int_eq(point_verdict(&p, &l), SLO_NOT_COMPUTABLE);
    p.ttft_p99 = (struct percentile){.present = true, .ns = 100 * ms - 1};
    ck_assert_int_eq(point_verdict(&p, &l), SLO_MET);
    p.tpot_p99 = (struct percentile){.present = true, .ns = 10 * ms};
    ck_assert_int_eq(point_verdict(&p, &l), SLO_MISSED);
    p.tpot_p99.ns--;
    p.e2e_p99 = (struct percentile){.present = true, .ns = 999 * ms};
    ck_assert_int_eq(point_verdict(&p, &l), SLO_MET);
    p.e2e_p99.ns = 1000 * ms;
    ck_assert_int_eq(point_verdict(&p, &l), SLO_MISSED);
    l.e2e_below_ns = INT64_MAX;
    ck_assert_int_eq(point_verdict(&p, &l), SLO_MET);
    p.e2e_p99 = (struct percentile){.present = true, .infinite = true};
    ck_assert_int_eq(point_verdict(&p, &l), SLO_MISSED); /* infinity misses even no limit */
    p.e2e_p99 = (struct percentile){0};
    p.ttft_p99.ns = 100 * ms;
    ck_assert_int_eq(point_verdict(&p, &l), SLO_MISSED);
    p.ttft_p99.ns = 1;
    p.stable = false;
    ck_assert_int_eq(point_verdict(&p, &l), SLO_MISSED);
    p.ttft_p99.present = false; /* missed comes before not computable */
    ck_assert_int_eq(point_verdict(&p, &l), SLO_MISSED);
    p.requests = 0;
    ck_assert_int_eq(point_verdict(&p, &l), SLO_NOT_COMPUTABLE);
}
END_TEST

START_TEST(knee_saturation_and_regions) {
    struct operating_point c[] = {point(30, 30, 20, true),   point(10, 10, 10, true),
                                  point(20, 20, 11, true),   point(40, 38, 60, true),
                                  point(50, 39, 900, false), point(60, 38, 950, true)};
    ck_assert_uint_eq(curve_knee(c, 6), 2);
    ck_assert_uint_eq(curve_saturation(c, 6), 3); /* 38 twice: the first; 39 isn't stable */
    const enum curve_region want[] = {REGION_KNEE, REGION_UNDERLOADED, REGION_KNEE,
                                      REGION_KNEE, REGION_OVERLOADED,  REGION_OVERLOADED};
    for (size_t i = 0; i < 6; i++) ck_assert_int_eq(curve_region(c, 6, i), want[i]);
    c[1].stable = false; /* below the knee, and yet not stable: overloaded comes first */
    ck_assert_int_eq(curve_region(c, 6, 1), REGION_OVERLOADED);
}
END_TEST

START_TEST(ties_and_curves_without_a_knee) {
    struct operating_point c[] = {point(1, 10, 5, true), point(2, 20, 10, true),
                                  point(3, 20, 10, true)};
    ck_assert_uint_eq(curve_knee(c, 3), 0);
    ck_assert_uint_eq(curve_saturation(c, 3), 1);
    c[2].throughput_rps = 99; /* beyond the list */
    c[2].mean_latency_ns = 1;
    ck_assert_uint_eq(curve_saturation(c, 1), 0);
    ck_assert_uint_eq(curve_saturation(c, 2), 1);
    ck_assert_uint_eq(curve_knee(c, 2), 0);
    ck_assert_uint_eq(curve_knee(c, 0), 0);
    ck_assert_uint_eq(curve_saturation(c, 0), 0);
    for (int i = 0; i < 3; i++) c[i].mean_latency_ns = NAN;
    ck_assert_uint_eq(curve_knee(c, 3), 3);
    ck_assert_int_eq(curve_region(c, 3, 0), REGION_KNEE);
    c[2].mean_latency_ns = 5;
    ck_assert_uint_eq(curve_knee(c, 3), 2); /* a NaN before it is passed over */
    c[0].mean_latency_ns = 0;               /* no latency: not an infinite power */
    ck_assert_uint_eq(curve_knee(c, 3), 2);
    for (int i = 0; i < 3; i++) c[i].stable = false;
    ck_assert_uint_eq(curve_saturation(c, 3), 3);
    ck_assert_int_eq(curve_region(c, 3, 0), REGION_OVERLOADED);
    c[1] = point(2, 0, 7, true); /* a throughput of 0 is a throughput */
    ck_assert_uint_eq(curve_saturation(c, 3), 1);
    ck_assert_uint_eq(curve_knee(c + 1, 1), 0);
}
END_TEST

/* ---- the search ---- */

struct made_up {
    double capacity_rps; /* loads below it meet the limits */
    double lo, hi;
    double asked[CAPACITY_MAX_PROBES + 1], lowest_missed;
    int probes, fails_at; /* the probe of this number fails; 0: none */
};

static int made_up_probe(void *ctx, double rps, struct operating_point *out, struct err *e) {
    struct made_up *m = ctx;
    ck_assert_int_lt(m->probes, CAPACITY_MAX_PROBES);
    ck_assert(rps >= m->lo && rps <= m->hi);
    for (int i = 0; i < m->probes; i++) ck_assert(m->asked[i] != rps);
    m->asked[m->probes++] = rps;
    if (m->probes == m->fails_at) return err_set(e, "probe %d fell over", m->probes);
    bool met = rps < m->capacity_rps;
    *out = point(rps, rps, 1, true);
    out->ttft_p99 = (struct percentile){.present = true, .ns = met ? 5 : 10};
    if (!met && (m->lowest_missed == 0 || rps < m->lowest_missed)) m->lowest_missed = rps;
    return 0;
}

static const struct point_limits below_ten = {10, INT64_MAX, INT64_MAX};

static struct capacity search(struct made_up *m, double resolution) {
    struct capacity c;
    struct err e;
    memset(&c, 0x5a, sizeof c);
    ck_assert_int_eq(capacity_find(made_up_probe, m, m->lo, m->hi, resolution, &below_ten, &c, &e),
                     0);
    ck_assert_int_eq(c.probes, m->probes);
    if (c.found) ck_assert(c.at.offered_rps == c.rps && c.rps < m->capacity_rps);
    if (c.found && !c.at_top)
        ck_assert(m->lowest_missed > c.rps && m->lowest_missed <= c.rps * (1 + resolution));
    return c;
}

START_TEST(search_brackets_the_answer) {
    struct rng r;
    rng_seed(&r, 3);
    for (int trial = 0; trial < 300; trial++) {
        double lo = 0.01 + rng_unit(&r), hi = lo * (1.01 + 1000 * rng_unit(&r) * rng_unit(&r));
        double resolution = trial % 3 == 0 ? 0.001 : 0.001 + 0.2 * rng_unit(&r);
        struct made_up m = {.capacity_rps = lo + (hi - lo) * rng_unit(&r), .lo = lo, .hi = hi};
        struct capacity c = search(&m, resolution);
        ck_assert(c.found && !c.at_top);
        /* bisection of the ratio: two ends, then one probe a halving */
        ck_assert_int_le(c.probes, 2 + (int)ceil(log2(log(hi / lo) / log1p(resolution))) + 1);
    }
}
END_TEST

START_TEST(search_ends_of_the_range) {
    struct made_up m = {.capacity_rps = 1, .lo = 1, .hi = 9};
    struct capacity c = search(&m, 0.01);
    ck_assert(!c.found && !c.at_top && c.rps == 0 && c.probes == 1 && c.at.offered_rps == 1);
    m = (struct made_up){.capacity_rps = 10, .lo = 1, .hi = 9};
    c = search(&m, 0.01);
    ck_assert(c.found && c.at_top && c.rps == 9 && c.at.offered_rps == 9 && c.probes == 2);
    m = (struct made_up){.capacity_rps = 1.0005, .lo = 1, .hi = 1.001};
    c = search(&m, 0.01); /* the ends are close enough already */
    ck_assert(c.found && !c.at_top && c.rps == 1 && c.probes == 2);
    m = (struct made_up){.capacity_rps = 3e7, .lo = 1e-300, .hi = 1e300};
    c = search(&m, 0.001);
    ck_assert(c.found && c.rps > 2.9e7);
}
END_TEST

START_TEST(search_with_a_probe_that_fails) {
    for (int at = 1; at <= 4; at++) {
        struct made_up m = {.capacity_rps = 3, .lo = 1, .hi = 9, .fails_at = at};
        struct capacity c;
        struct err e = {0};
        ck_assert_int_eq(capacity_find(made_up_probe, &m, 1, 9, 0.01, &below_ten, &c, &e), -1);
        ck_assert_ptr_nonnull(strstr(e.text, "fell over"));
        ck_assert(m.probes == at && c.probes == at);
    }
}
END_TEST

START_TEST(search_refuses_nonsense) {
    const struct {
        double lo, hi, resolution;
        const char *field;
    } bad[] = {
        {0, 9, 0.1, "lo_rps"},        {-1, 9, 0.1, "lo_rps"},         {NAN, 9, 0.1, "lo_rps"},
        {INFINITY, 9, 0.1, "lo_rps"}, {9, 9, 0.1, "hi_rps"},          {1, NAN, 0.1, "hi_rps"},
        {1, INFINITY, 0.1, "hi_rps"}, {1, 0.5, 0.1, "hi_rps"},        {1, 9, 0.0009, "resolution"},
        {1, 9, NAN, "resolution"},    {1, 9, INFINITY, "resolution"}, {1, 9, -1, "resolution"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct made_up m = {.capacity_rps = 3, .lo = 0, .hi = INFINITY};
        struct capacity c;
        struct err e = {0};
        ck_assert_int_eq(capacity_find(made_up_probe, &m, bad[i].lo, bad[i].hi, bad[i].resolution,
                                       &below_ten, &c, &e),
                         -1);
        ck_assert_str_eq(e.field, bad[i].field);
        ck_assert_int_eq(m.probes, 0);
    }
}
END_TEST

/* A verdict that can't be computed isn't met. */
static int nothing_there(void *ctx, double rps, struct operating_point *out, struct err *e) {
    (void)ctx, (void)e;
    *out = point(rps, 0, 1, true);
    return 0;
}

START_TEST(search_takes_not_computable_for_not_met) {
    struct capacity c;
    struct err e;
    ck_assert_int_eq(capacity_find(nothing_there, NULL, 1, 9, 0.1, &below_ten, &c, &e), 0);
    ck_assert(!c.found && c.probes == 1);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("point");
    TCase *c = tcase_create("point");
    suite_add_tcase(s, c);
    tcase_add_test(c, classes);
    tcase_add_test(c, intervals_of_one_request);
    tcase_add_test(c, an_empty_window);
    tcase_add_test(c, all_shed);
    tcase_add_test(c, stragglers_over_both_ends);
    tcase_add_test(c, the_ends_of_a_window);
    tcase_add_test(c, percentiles_to_the_rank);
    tcase_add_test(c, limits_are_strict);
    tcase_add_test(c, order_and_shift_change_nothing);
    tcase_add_test(c, stability);
    tcase_add_test(c, an_early_burst_is_no_stable_load);
    tcase_add_test(c, a_line_without_error_is_no_accident);
    tcase_add_test(c, a_rise_beyond_three_standard_errors);
    tcase_add_test(c, verdict_of_a_point);
    tcase_add_test(c, knee_saturation_and_regions);
    tcase_add_test(c, ties_and_curves_without_a_knee);
    tcase_add_test(c, search_brackets_the_answer);
    tcase_add_test(c, search_ends_of_the_range);
    tcase_add_test(c, search_with_a_probe_that_fails);
    tcase_add_test(c, search_refuses_nonsense);
    tcase_add_test(c, search_takes_not_computable_for_not_met);
    return s;
}

int main(void) {
    return check_main(suite());
}
