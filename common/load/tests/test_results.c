/* test_results.c: windows, counts, lag and validity of a run, on rows with known times. */
#include "base/clock.h"
#include "load/results.h"
#include "testing/check_main.h"

#include <math.h>
#include <string.h>

#define MS NS_PER_MS
enum { FIRST_MS = 1000 };

static struct load_results results;

static void begin(int64_t duration_ms, int64_t warm_up_ms, int64_t cool_down_ms) {
    results = (struct load_results){.first_ns = FIRST_MS * MS,
                                    .duration_ns = duration_ms * MS,
                                    .warm_up_ns = warm_up_ms * MS,
                                    .cool_down_ns = cool_down_ms * MS,
                                    .sending_end_ns = FIRST_MS * MS + 2 * NS_PER_S,
                                    .pace_steps = -1};
}

/* A whole answer: scheduled at at_ms of the schedule, sent lag_us later, first text after ttft_ms,
 * over after e2e_ms, both from the schedule. */
static struct load_row *add(int64_t at_ms, int64_t lag_us, int64_t ttft_ms, int64_t e2e_ms) {
    int64_t number = load_results_add(&results);
    struct load_row *row = &results.rows[number];
    row->scheduled_ns = (FIRST_MS + at_ms) * MS;
    row->submitted_ns = row->scheduled_ns + lag_us * 1000;
    row->first_ns = row->scheduled_ns + ttft_ms * MS;
    row->last_ns = row->ended_ns = row->scheduled_ns + e2e_ms * MS;
    row->http_status = 200;
    row->whole = true;
    return row;
}

static struct load_counts counts(void) {
    struct load_counts c;
    load_count(&results, &c);
    return c;
}

static struct load_lag lag(void) {
    struct load_lag l;
    load_lag_of(&results, &l);
    return l;
}

static bool invalid_for(const char *part) {
    struct buffer b = {0};
    int n = load_invalid(&results, &b);
    bool found = strstr(b.bytes, part) != NULL;
    ck_assert_int_eq(n > 0, strcmp(b.bytes, "[]") != 0);
    buffer_release(&b);
    return found;
}

START_TEST(the_window_is_closed_at_both_ends) {
    begin(1000, 200, 300);
    const int64_t at_ms[] = {0, 199, 200, 500, 700, 701, 999};
    for (size_t i = 0; i < sizeof at_ms / sizeof *at_ms; i++) add(at_ms[i], 0, 1, 2);
    struct load_window w = load_window_of(&results);
    ck_assert_int_eq(w.from_ns, 1200 * MS);
    ck_assert_int_eq(w.to_ns, 1700 * MS);
    ck_assert_int_eq(counts().measured, 3);
    ck_assert_int_eq(counts().requests, 7);
    load_results_release(&results);
}
END_TEST

START_TEST(without_a_duration_the_last_request_ends_it) {
    begin(0, 0, 0);
    add(0, 0, 1, 2), add(500, 0, 1, 2), add(900, 0, 1, 2);
    ck_assert_int_eq(load_window_of(&results).to_ns, 1900 * MS);
    ck_assert_int_eq(counts().measured, 3);
    results.cool_down_ns = 1;
    ck_assert_int_eq(counts().measured, 2);
    results.duration_ns = 5000 * MS;
    results.interrupted = true; /* it didn't last so long */
    ck_assert_int_eq(load_window_of(&results).to_ns, 1900 * MS - 1);
    load_results_release(&results);
}
END_TEST

START_TEST(straddling_is_counted_on_both_sides) {
    begin(1000, 200, 200);
    add(100, 0, 50, 99);  /* over before the window */
    add(100, 0, 50, 100); /* over at its first instant */
    add(150, 0, 50, 700); /* over after it: in it all the time, but not ended in it */
    add(700, 0, 50, 100); /* over at its last instant */
    add(700, 0, 50, 101);
    add(900, 0, 50, 60);
    ck_assert_int_eq(counts().straddle_warm_up, 1);
    ck_assert_int_eq(counts().straddle_end, 1);
    load_results_release(&results);
}
END_TEST

START_TEST(lag_is_by_nearest_rank_within_the_window) {
    begin(0, 100, 0);
    add(50, 500000, 1, 2); /* before the window: doesn't count */
    for (int i = 1; i <= 100; i++) add(100 + i, i, 10, 20);
    ck_assert_int_eq(lag().p50_ns, 50 * 1000);
    ck_assert_int_eq(lag().p99_ns, 99 * 1000);
    ck_assert_int_eq(lag().max_ns, 100 * 1000);
    ck_assert_int_eq(lag().median_ttft_ns, 10 * MS);
    load_results_release(&results);
}
END_TEST

/* One request with this lag and this median TTFT. */
static bool sent_late(int64_t lag_us, int64_t ttft_ms) {
    begin(0, 0, 0);
    add(0, lag_us, ttft_ms, ttft_ms + 1);
    bool late = invalid_for("sent late");
    load_results_release(&results);
    return late;
}

START_TEST(the_lag_may_be_a_share_of_ttft_within_bounds) {
    ck_assert(!sent_late(1000, 5)); /* 1 ms is always allowed */
    ck_assert(sent_late(1001, 5));
    ck_assert(!sent_late(5000, 100)); /* 5 % */
    ck_assert(sent_late(5001, 100));
    ck_assert(!sent_late(10000, 5000)); /* never above 10 ms */
    ck_assert(sent_late(10001, 5000));
}
END_TEST

START_TEST(a_busy_thread_makes_it_invalid) {
    begin(0, 0, 0);
    add(0, 0, 1, 2);
    results.cpu_ns = NS_PER_S;
    results.waited_ns = NS_PER_S * 8 / 10; /* of two seconds: 90 % */
    ck_assert(!invalid_for("busy"));
    results.waited_ns += NS_PER_S / 100;
    ck_assert(invalid_for("busy"));
    results.sending_end_ns = results.first_ns + NS_PER_S - 1; /* all start-up */
    ck_assert(!invalid_for("busy"));
    load_results_release(&results);
}
END_TEST

START_TEST(standing_still_with_answers_in_flight_makes_it_invalid) {
    begin(0, 0, 0);
    for (int i = 0; i < 100; i++) add(i, 0, 1, 2);
    results.stalled = 1; /* 1 % */
    ck_assert(!invalid_for("stood still"));
    results.stalled = 2;
    ck_assert(invalid_for("while 2 of 100 requests"));
    load_results_release(&results);
}
END_TEST

START_TEST(other_reasons) {
    begin(0, 0, 0);
    ck_assert(invalid_for("no request was scheduled"));
    ck_assert(!invalid_for("answered whole"));
    ck_assert(isnan(lag().busy) == false);
    ck_assert_int_eq(lag().p99_ns, -1);
    add(0, 0, 1, 2)->whole = false;
    ck_assert(invalid_for("answered whole"));
    results.rows[0].whole = true;
    ck_assert(!invalid_for("whole"));
    results.interrupted = true;
    ck_assert(invalid_for("interrupted"));
    results.interrupted = false;
    results.pace_steps = 200, results.pace_late = 2; /* 1 % */
    ck_assert(!invalid_for("paced"));
    results.pace_late = 3;
    ck_assert(invalid_for("3 of 200"));
    load_results_release(&results);
}
END_TEST

START_TEST(counts_of_what_is_doubtful) {
    begin(0, 0, 0);
    struct load_row *row = add(0, 0, 1, 2);
    row->prompt_tokens = 10, row->output_tokens = 5;
    row->usage_prompt_tokens = 10, row->usage_output_tokens = 5, row->chunks = 5;
    ck_assert_int_eq(counts().short_answers + counts().wrong_prompts, 0);
    ck_assert_int_eq(counts().chunks_over_usage, 0);
    row->chunks = 6;
    ck_assert_int_eq(counts().chunks_over_usage, 1);
    row->usage_output_tokens = 4, row->usage_prompt_tokens = 11;
    ck_assert_int_eq(counts().short_answers, 1);
    ck_assert_int_eq(counts().wrong_prompts, 1);
    row->usage_output_tokens = row->usage_prompt_tokens = -1; /* it didn't say */
    ck_assert_int_eq(counts().short_answers + counts().wrong_prompts, 0);
    row->check = true, row->usage_output_tokens = 4; /* ends when it has the answer */
    ck_assert_int_eq(counts().short_answers, 0);
    load_results_release(&results);
}
END_TEST

int main(void) {
    Suite *s = suite_create("results");
    TCase *t = tcase_create("results");
    tcase_add_test(t, the_window_is_closed_at_both_ends);
    tcase_add_test(t, without_a_duration_the_last_request_ends_it);
    tcase_add_test(t, straddling_is_counted_on_both_sides);
    tcase_add_test(t, lag_is_by_nearest_rank_within_the_window);
    tcase_add_test(t, the_lag_may_be_a_share_of_ttft_within_bounds);
    tcase_add_test(t, a_busy_thread_makes_it_invalid);
    tcase_add_test(t, standing_still_with_answers_in_flight_makes_it_invalid);
    tcase_add_test(t, other_reasons);
    tcase_add_test(t, counts_of_what_is_doubtful);
    suite_add_tcase(s, t);
    return check_main(s);
}
