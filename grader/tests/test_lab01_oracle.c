/* test_lab01_oracle.c: lab 01's oracle against numbers worked out on paper, from the definitions of
 * the headers and the examples of the handout. Every grade depends on the oracle, so it is checked
 * independently. */
#include "lab01/lab01.h"

#include "testing/check_main.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct lab01_case c;
static struct want w[CASE_MAX_SLOTS];

static void setup(void) {
    lab01_case_init(&c);
    c.n_rec = 1;
    lab01_make_objective(&c);
}

static void teardown(void) {
    lab01_case_release(&c);
}

static void event(enum event_kind kind, enum clock_id clock, int64_t t, int tokens,
                  const char *range) {
    lab01_make_event(&c.rec[0], kind, clock, t, tokens, range);
}

static int64_t want(const char *name) {
    for (size_t i = 0; i < lab01_case_slots(&c); i++)
        if (!strcmp(w[i].name, name)) return w[i].value;
    ck_abort_msg("no slot %s", name);
    return 0;
}

static void ask(enum lab01_fn fn) {
    c.fn = fn;
    lab01_oracle(&c, false, w);
}

/* ---- intervals ------------------------------------------------------------------------------- */

static void between(int64_t start, enum clock_id a, int64_t end, enum clock_id b) {
    event(EV_REQUEST_SUBMITTED, a, start, 0, NULL);
    event(EV_FIRST_TOKEN, b, end, 0, NULL);
    c.end = 1;
    ask(FN_BETWEEN);
}

START_TEST(between_on_one_clock) {
    between(40, CLOCK_SERVER, 65, CLOCK_SERVER);
    ck_assert_int_eq(want("status"), INTERVAL_OK);
    ck_assert_int_eq(want("ns"), 25);
    ck_assert_int_eq(want("uncertainty_ns"), 0);
}
END_TEST

START_TEST(negative_is_an_error) {
    between(40, CLOCK_SERVER, 39, CLOCK_SERVER);
    ck_assert_int_eq(want("status"), INTERVAL_NEGATIVE);
}
END_TEST

START_TEST(two_clocks) {
    /* the handout's example: 1000 on the browser's clock, 55 on the server's, browser - server =
     * 960 */
    between(1000, CLOCK_BROWSER, 55, CLOCK_SERVER);
    ck_assert_int_eq(want("status"), INTERVAL_CROSS_CLOCK);
    c.rec[0].offsets[0] = (struct clock_offset){CLOCK_BROWSER, CLOCK_SERVER, 960, 3};
    c.rec[0].n_offsets = 1;
    ask(FN_BETWEEN);
    ck_assert_int_eq(want("status"), INTERVAL_OK);
    ck_assert_int_eq(want("ns"), 15);
    ck_assert_int_eq(want("uncertainty_ns"), 3);
    c.rec[0].offsets[0] = (struct clock_offset){CLOCK_SERVER, CLOCK_BROWSER, -960, 3};
    ask(FN_BETWEEN);
    ck_assert_int_eq(want("ns"), 15);
    c.rec[0].offsets[0] = (struct clock_offset){CLOCK_BROWSER, CLOCK_SERVER, 940, 100};
    ask(FN_BETWEEN);
    ck_assert_int_eq(want("status"), INTERVAL_NEGATIVE);
}
END_TEST

START_TEST(divide) {
    static const int64_t t[][3] = {
        {7, 3, 2},   {8, 3, 3}, {5, 2, 3},
        {-5, 2, -3}, {0, 9, 0}, {-7, 3, -2},
        {3, 7, 0},   {4, 7, 1}, {INT64_C(18014398509481983), 2, INT64_C(9007199254740992)}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        c.n = t[i][0];
        c.d = t[i][1];
        ask(FN_DIVIDE);
        ck_assert_int_eq(w[0].value, t[i][2]);
    }
}
END_TEST

static void four_tokens(void) {
    event(EV_TOKEN_SENT, CLOCK_SERVER, 500, 1, NULL);
    event(EV_TOKEN_SENT, CLOCK_SERVER, 560, 2, NULL);
    event(EV_TOKEN_SENT, CLOCK_SERVER, 620, 1, NULL);
    event(EV_TOKEN_SENT, CLOCK_SERVER, 690, 0, NULL);
    c.rec[0].workload.output_tokens = 4;
    c.rec[0].workload.max_output_tokens = 256;
}

START_TEST(tpot_of_four_tokens) {
    four_tokens();
    ask(FN_COMPUTE);
    ck_assert_int_eq(want("tpot.ns"), 40);
    ck_assert_int_eq(want("tpot_boundary"), TPOT_TOKEN_SENT);
    ck_assert_int_eq(want("client_ttft.status"), INTERVAL_ABSENT);
}
END_TEST

START_TEST(one_token_has_no_tpot) {
    event(EV_FIRST_BYTE_RECEIVED, CLOCK_BROWSER, 10, 0, NULL);
    event(EV_FINAL_BYTE_RECEIVED, CLOCK_BROWSER, 31, 0, NULL);
    for (int tokens = -1; tokens < 2; tokens++) {
        c.rec[0].workload.output_tokens = tokens;
        ask(FN_COMPUTE);
        ck_assert_int_eq(want("tpot.status"), INTERVAL_ABSENT);
        ck_assert_int_eq(want("tpot_boundary"), TPOT_NONE);
    }
    c.rec[0].workload.output_tokens = 3;
    ask(FN_COMPUTE);
    ck_assert_int_eq(want("tpot.ns"), 11); /* 21 / 2, halves away from zero */
    ck_assert_int_eq(want("tpot_boundary"), TPOT_BROWSER_BYTES);
}
END_TEST

START_TEST(gaps_are_pooled_per_token) {
    four_tokens();
    c.cap = 8;
    ask(FN_ITL);
    ck_assert_int_eq(w[0].value, 3);
    ck_assert_int_eq(w[1].value, 30);
    ck_assert_int_eq(w[2].value, 30);
    ck_assert_int_eq(w[3].value, 60);
    ck_assert(!w[4].care);
    ck_assert(w[9].care); /* the memory after the given room */
}
END_TEST

START_TEST(gpu_ranges_nest) {
    event(EV_GPU_START, CLOCK_GPU, 10, 0, "prefill");
    event(EV_GPU_START, CLOCK_GPU, 12, 0, "attention");
    event(EV_GPU_END, CLOCK_GPU, 15, 0, "attention");
    event(EV_GPU_END, CLOCK_GPU, 20, 0, "prefill");
    ask(FN_COMPUTE);
    ck_assert_int_eq(want("gpu_execution.ns"), 13);
    event(EV_GPU_START, CLOCK_GPU, 30, 0, "decode");
    ask(FN_COMPUTE);
    ck_assert_int_eq(want("gpu_execution.status"), INTERVAL_ABSENT);
}
END_TEST

/* ---- classification -------------------------------------------------------------------------- */

static void six(void) {
    static const enum event_kind kinds[] = {EV_REQUEST_SUBMITTED,   EV_REQUEST_ACCEPTED,
                                            EV_REQUEST_ADMITTED,    EV_FIRST_TOKEN,
                                            EV_FIRST_BYTE_RECEIVED, EV_FINAL_BYTE_RECEIVED};
    for (int i = 0; i < 6; i++)
        event(kinds[i], i == 0 || i > 3 ? CLOCK_BROWSER : CLOCK_SERVER, i, 0, NULL);
    c.rec[0].outcome.delivered = true;
}

static int64_t reason(int status, const char *error, const char *finish) {
    c.rec[0].outcome.http_status = status;
    lab01_make_error(&c.rec[0], error);
    lab01_make_finish(&c.rec[0], finish);
    ask(FN_ATTEMPT);
    return w[0].value;
}

START_TEST(the_handouts_table_of_reasons) {
    six();
    ck_assert_int_eq(reason(200, "", "stop"), REASON_DELIVERED);
    ck_assert_int_eq(reason(200, "out of blocks", "stop"), REASON_IN_BAND_ERROR);
    ck_assert_int_eq(reason(200, "", ""), REASON_NO_FINISH_REASON);
    ck_assert_int_eq(reason(200, "", "length"), REASON_TRUNCATED);
    ck_assert_int_eq(reason(200, "timed_out", ""), REASON_TIMED_OUT);
    ck_assert_int_eq(reason(404, "", "stop"), REASON_NOT_DELIVERED);
    ck_assert_int_eq(reason(500, "", "stop"), REASON_INTERNAL_ERROR);
    ck_assert_int_eq(reason(429, "x", "stop"), REASON_REJECTED);
    c.truncation = TRUNCATION_FIXED_LENGTH;
    ck_assert_int_eq(reason(200, "", "length"), REASON_DELIVERED);
    event(EV_REQUEST_FAILED, CLOCK_SERVER, 9, 0, NULL);
    ck_assert_int_eq(reason(503, "busy", ""), REASON_REJECTED);
    ck_assert_int_eq(reason(200, "", "stop"), REASON_INTERNAL_ERROR);
    lab01_make_drop(&c.rec[0], EV_REQUEST_FAILED);
    lab01_make_drop(&c.rec[0], EV_FIRST_TOKEN);
    ck_assert_int_eq(reason(200, "", "stop"), REASON_NOT_DELIVERED);
    lab01_make_drop(&c.rec[0], EV_REQUEST_ACCEPTED);
    ck_assert_int_eq(reason(200, "", "stop"), REASON_NOT_DELIVERED);
    lab01_make_drop(&c.rec[0], EV_REQUEST_ADMITTED); /* now it is a client's alone */
    ck_assert_int_eq(reason(200, "", "stop"), REASON_DELIVERED);
    lab01_make_drop(&c.rec[0], EV_REQUEST_SUBMITTED);
    ck_assert_int_eq(reason(200, "", "stop"), REASON_NOT_DELIVERED);
}
END_TEST

START_TEST(retries_count_once_as_work) {
    six();
    c.rec[0].attempt = 2;
    c.rec[0].outcome.http_status = 200;
    lab01_make_finish(&c.rec[0], "stop");
    snprintf(c.rec[0].quality.check, sizeof c.rec[0].quality.check, "key-recall/1");
    c.rec[0].quality.verdict = VERDICT_PASSED;
    c.rec[0].structure.verdict = VERDICT_NOT_REQUIRED;
    c.rec[1].attempt = 1;
    c.rec[1].outcome.http_status = 503;
    c.n_rec = 2;
    ask(FN_REQUEST);
    ck_assert_int_eq(want("useful"), 1);
    ck_assert_int_eq(want("attempts"), 2);
    c.rec[1].attempt = 3; /* the refusal comes last */
    ask(FN_REQUEST);
    ck_assert_int_eq(want("useful"), 0);
    ck_assert_int_eq(want("reason"), REASON_REJECTED);
}
END_TEST

START_TEST(good_is_below) {
    c.cls = (struct classification){
        true, REASON_DELIVERED, VERDICT_PASSED, VERDICT_NOT_REQUIRED, true, 1};
    c.iv.e2e = (struct interval){INTERVAL_OK, 20000000000, 0};
    c.iv.tpot = (struct interval){INTERVAL_ABSENT, 0, 0};
    c.obj.latency[0] = (struct latency_limit){IV_E2E, SCOPE_REQUEST, 0, 20000000000};
    c.obj.latency[1] = (struct latency_limit){IV_TPOT, SCOPE_REQUEST, 0, 1};
    c.obj.n_latency = 2;
    ask(FN_GOOD);
    ck_assert_int_eq(w[0].value, 0);
    c.obj.latency[0].below_ns++;
    ask(FN_GOOD);
    ck_assert_int_eq(w[0].value, 1);
}
END_TEST

/* ---- percentiles and objectives -------------------------------------------------------------- */

static void rank(size_t n_ok, size_t n_failed, int32_t milli) {
    static int64_t obs[2000];
    for (size_t i = 0; i < n_ok; i++) obs[i] = (int64_t)(n_ok - i);
    c.obs = obs;
    c.n_ok = n_ok;
    c.n_failed = n_failed;
    c.percentile_milli = milli;
    ask(FN_RANK);
    c.obs = NULL; /* the case must not free it */
}

START_TEST(failures_stay_in) {
    rank(10, 0, 90000);
    ck_assert_int_eq(want("ns"), 9);
    rank(10, 1, 90000);
    ck_assert_int_eq(want("ns"), 10);
    rank(10, 2, 90000);
    ck_assert_int_eq(want("infinite"), 1);
    ck_assert_int_eq(want("n"), 12);
}
END_TEST

START_TEST(few_and_none) {
    rank(8, 0, 99000);
    ck_assert_int_eq(want("ns"), 8);
    ck_assert_int_eq(want("few"), 1);
    rank(100, 0, 99000);
    ck_assert_int_eq(want("ns"), 99);
    ck_assert_int_eq(want("few"), 0);
    rank(99, 0, 99000);
    ck_assert_int_eq(want("few"), 1);
    rank(999, 0, 99900);
    ck_assert_int_eq(want("few"), 1);
    rank(1000, 0, 99900);
    ck_assert_int_eq(want("few"), 0);
    rank(0, 0, 50000);
    ck_assert_int_eq(want("present"), 0);
    ck_assert_int_eq(want("infinite"), 0);
    rank(0, 3, 50000);
    ck_assert_int_eq(want("infinite"), 1);
}
END_TEST

START_TEST(rates_may_reach_their_bounds) {
    c.obj.reliability.max_failure_rate = 0.001;
    c.counts = (struct slo_counts){1000, 600, 1, 570, 600, 60};
    ask(FN_FAILURES);
    ck_assert_int_eq(w[0].value, SLO_MET);
    c.counts.failed = 2;
    ask(FN_FAILURES);
    ck_assert_int_eq(w[0].value, SLO_MISSED);
    c.counts.requests = c.counts.failed = 0;
    ask(FN_FAILURES);
    ck_assert_int_eq(w[0].value, SLO_NOT_COMPUTABLE);
    c.obj.quality.min_pass_rate = 0.95;
    ask(FN_PASSES);
    ck_assert_int_eq(w[0].value, SLO_MET);
    c.counts.quality_passed = 569;
    ask(FN_PASSES);
    ck_assert_int_eq(w[0].value, SLO_MISSED);
    c.obj.throughput.min_rps = 10;
    ask(FN_RATE);
    ck_assert_int_eq(w[0].value, SLO_MET);
    c.counts.useful = -1;
    ask(FN_RATE);
    ck_assert_int_eq(w[0].value, SLO_NOT_COMPUTABLE);
}
END_TEST

START_TEST(the_handouts_value) {
    double value;
    c.obj.resource.reserve_fraction = 0.35;
    c.obj.resource.usd_per_accelerator_hour = 2.5;
    c.counts = (struct slo_counts){-1, 4680, -1, -1, -1, 3600};
    c.cap = 100;
    ask(FN_VALUE);
    memcpy(&value, &w[1].value, sizeof value);
    ck_assert_int_eq(w[0].value, SLO_MET);
    ck_assert_double_eq_tol(value, 1216.8, 1e-9);
    c.obj.resource.usd_per_accelerator_hour = (double)NAN;
    ask(FN_VALUE);
    ck_assert_int_eq(w[0].value, SLO_NOT_COMPUTABLE);
}
END_TEST

START_TEST(missed_beats_not_computable) {
    c.obj.latency[0] = (struct latency_limit){IV_CLIENT_TTFT, SCOPE_POPULATION, 99000, 800000000};
    c.obj.latency[1] = (struct latency_limit){IV_TPOT, SCOPE_POPULATION, 99000, 80000000};
    c.obj.n_latency = 2;
    c.n_pct = 2;
    c.pct[0] = (struct percentile){true, false, 799999999, 1000, 0, false};
    c.pct[1] = (struct percentile){true, false, 170000000, 1000, 0, false};
    c.obj.quality.min_pass_rate = 0.95; /* nothing was counted */
    ask(FN_VERDICT);
    ck_assert_int_eq(w[0].value, SLO_MISSED);
    c.pct[1].ns = 79999999;
    ask(FN_VERDICT);
    ck_assert_int_eq(w[0].value, SLO_NOT_COMPUTABLE);
    c.counts.quality_passed = c.counts.quality_evaluated = 5;
    ask(FN_VERDICT);
    ck_assert_int_eq(w[0].value, SLO_MET);
    c.pct[0].ns = 800000000;
    ask(FN_VERDICT);
    ck_assert_int_eq(w[0].value, SLO_MISSED);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("oracle");
    TCase *tc = tcase_create("on paper");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, between_on_one_clock);
    tcase_add_test(tc, negative_is_an_error);
    tcase_add_test(tc, two_clocks);
    tcase_add_test(tc, divide);
    tcase_add_test(tc, tpot_of_four_tokens);
    tcase_add_test(tc, one_token_has_no_tpot);
    tcase_add_test(tc, gaps_are_pooled_per_token);
    tcase_add_test(tc, gpu_ranges_nest);
    tcase_add_test(tc, the_handouts_table_of_reasons);
    tcase_add_test(tc, retries_count_once_as_work);
    tcase_add_test(tc, good_is_below);
    tcase_add_test(tc, failures_stay_in);
    tcase_add_test(tc, few_and_none);
    tcase_add_test(tc, rates_may_reach_their_bounds);
    tcase_add_test(tc, the_handouts_value);
    tcase_add_test(tc, missed_beats_not_computable);
    suite_add_tcase(suite, tc);
    return check_main(suite);
}
