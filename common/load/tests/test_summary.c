/* test_summary.c: the figures of a load from rows and a log with known times. */
#include "base/clock.h"
#include "load/summary.h"
#include "testing/check_main.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MS NS_PER_MS

static struct load_results results;
static struct load_summary summary;
static char path[] = "/tmp/servelab-summary-XXXXXX";
static FILE *log_file;
static const char *more_workload; /* JSON members for the records that add() writes */

static void begin(void) {
    more_workload = "";
    results = (struct load_results){.first_ns = 1000 * MS, .pace_steps = -1};
    strcpy(path + strlen(path) - 6, "XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    log_file = fdopen(fd, "w");
}

static int summarize(const struct objective *o, struct err *e) {
    fclose(log_file);
    int rc = load_summarize(&summary, &results, path, o, e);
    unlink(path);
    return rc;
}

static void end(void) {
    load_summary_release(&summary);
    load_results_release(&results);
}

/* A record of the client alone: scheduled at at_ms, sent 1 ms later; first, last text and end in ms
 * from the schedule; n tokens, and the gaps of its chunks. */
static void add(int64_t at_ms, int64_t first, int64_t last, int64_t end_ms, int n,
                const char *finish, const char *gaps) {
    int64_t number = load_results_add(&results);
    struct load_row *row = &results.rows[number];
    row->scheduled_ns = (1000 + at_ms) * MS;
    row->submitted_ns = row->scheduled_ns + MS;
    row->first_ns = row->scheduled_ns + first * MS;
    row->last_ns = row->scheduled_ns + last * MS;
    row->ended_ns = row->scheduled_ns + end_ms * MS;
    row->usage_output_tokens = n;
    row->chunks = last > first ? 2 : 1;
    fprintf(log_file,
            "{\"schema\":\"servelab.request-record.v1\",\"request_id\":\"load-1a-%lld\","
            "\"attempt\":1,\"workload\":{\"model\":\"m\",\"output_tokens\":%d%s},\"events\":["
            "{\"event\":\"request_submitted\",\"clock\":\"browser\",\"source\":\"client\","
            "\"clock_api\":\"CLOCK_MONOTONIC\",\"t_ns\":%lld},"
            "{\"event\":\"first_byte_received\",\"clock\":\"browser\",\"source\":\"client\","
            "\"clock_api\":\"CLOCK_MONOTONIC\",\"t_ns\":%lld},"
            "{\"event\":\"final_byte_received\",\"clock\":\"browser\",\"source\":\"client\","
            "\"clock_api\":\"CLOCK_MONOTONIC\",\"t_ns\":%lld}],"
            "\"outcome\":{\"delivered\":true,\"http_status\":200,\"finish_reason\":\"%s\"},"
            "\"client\":{\"chunk_gaps_ns\":[%s]}}\n",
            (long long)number + 1, n, more_workload, (long long)row->submitted_ns,
            (long long)row->first_ns, (long long)row->ended_ns, finish, gaps);
}

static int64_t p(struct population *of, enum interval_id id, int32_t milli) {
    struct percentile q = population_percentile(of, id, POPULATION_COMPLETED, milli);
    return q.present ? q.ns : -1;
}

START_TEST(from_the_schedule_and_as_sent) {
    struct err e;
    begin();
    add(0, 20, 50, 60, 4, "length", "10000000,20000000");
    add(500, 30, 40, 90, 3, "stop", "10000000");
    add(1000, 40, 40, 45, 1, "stop", "");
    ck_assert_int_eq(summarize(NULL, &e), 0);
    ck_assert_int_eq(p(summary.scheduled, IV_CLIENT_TTFT, 50000), 30 * MS);
    ck_assert_int_eq(p(summary.sent, IV_CLIENT_TTFT, 50000), 29 * MS);
    ck_assert_int_eq(p(summary.scheduled, IV_E2E, 99000), 90 * MS);
    ck_assert_int_eq(p(summary.sent, IV_E2E, 99000), 89 * MS);
    /* (50 - 20) / 3 and (40 - 30) / 2, without the 10 and 50 ms in which usage came; no third */
    ck_assert_int_eq(p(summary.scheduled, IV_TPOT, 50000), 5 * MS);
    ck_assert_int_eq(p(summary.scheduled, IV_TPOT, 100000), 10 * MS);
    ck_assert_uint_eq(population_percentile(summary.scheduled, IV_TPOT, POPULATION_ALL, 50000).n,
                      2);
    ck_assert_uint_eq(summary.n_itl, 3);
    ck_assert(summary.itl_of_chunks);
    ck_assert_int_eq(summary.counts.completed, 3); /* the length was asked for */
    ck_assert_double_eq(summary.window_s, 1.0);
    ck_assert_double_eq(summary.offered_rps, 3.0);
    ck_assert_double_eq(summary.achieved_rps, 2.0); /* the third ended 45 ms after the window */
    ck_assert_double_eq(summary.output_tps, 7.0);
    end();
}
END_TEST

START_TEST(a_checked_answer_that_was_cut_is_truncated) {
    struct err e;
    begin();
    add(0, 20, 50, 60, 4, "length", "");
    results.rows[0].check = true;
    ck_assert_int_eq(summarize(NULL, &e), 0);
    ck_assert_int_eq(summary.counts.by_reason[REASON_TRUNCATED], 1);
    end();
}
END_TEST

START_TEST(outside_the_window_nothing_counts_but_ends) {
    struct err e;
    begin();
    results.duration_ns = 1000 * MS;
    results.warm_up_ns = 100 * MS;
    add(0, 20, 50, 150, 8, "length", "1");    /* ends in the window */
    add(200, 10, 20, 30, 2, "length", "2,3"); /* in it */
    add(900, 10, 20, 2000, 4, "length", "4"); /* in it, ends after */
    ck_assert_int_eq(summarize(NULL, &e), 0);
    ck_assert_int_eq(summary.counts.requests, 2);
    ck_assert_double_eq(summary.offered_rps, 2 / 0.9);
    ck_assert_double_eq(summary.achieved_rps, 2 / 0.9);
    ck_assert_double_eq(summary.output_tps, 10 / 0.9);
    ck_assert_uint_eq(summary.n_itl, 3);
    end();
}
END_TEST

START_TEST(a_negative_interval_is_named) {
    struct err e;
    begin();
    add(0, 20, 50, 60, 4, "stop", "");
    add(10, 20, 50, 10, 4, "stop", ""); /* over before it began */
    ck_assert_int_eq(summarize(NULL, &e), -1);
    ck_assert_int_eq(e.line, 2);
    ck_assert_ptr_nonnull(strstr(e.text, "final_byte_received"));
    end();
}
END_TEST

START_TEST(limits_are_held_against_the_schedule) {
    struct err e;
    struct objective o = {.name = "o",
                          .unit_of_work = "useful_response",
                          .latency = {{IV_CLIENT_TTFT, SCOPE_POPULATION, 99000, 20 * MS},
                                      {IV_E2E, SCOPE_REQUEST, 0, 60 * MS}},
                          .n_latency = 2};
    struct percentile limits[OBJECTIVE_MAX_LIMITS];
    struct slo_counts c;
    o.quality.min_pass_rate = o.throughput.min_rps = o.throughput.offered_rps = NAN;
    o.reliability.max_failure_rate = o.reliability.max_recovery_s = NAN;
    o.resource.accelerators = o.resource.usd_per_accelerator_hour = NAN;
    begin();
    add(0, 20, 50, 59, 4, "stop", "");   /* 19 ms as sent, but 20 from the schedule */
    add(500, 19, 50, 60, 4, "stop", ""); /* 59 ms as sent, but 60 from the schedule */
    ck_assert_int_eq(summarize(&o, &e), 0);
    ck_assert_int_eq(load_verdict(&summary, limits, &c), SLO_MISSED);
    ck_assert_int_eq(limits[0].ns, 20 * MS);
    ck_assert_int_eq(summary.within_limits, 1);
    ck_assert_int_eq(summary.counts.good, 0); /* no check judged them */
    ck_assert_double_eq(c.interval_s, 0.5);
    end();
}
END_TEST

START_TEST(the_workload_says_pace_and_cached_tokens) {
    struct err e;
    begin();
    add(0, 20, 50, 60, 4, "length", "");
    ck_assert_int_eq(summarize(NULL, &e), 0);
    ck_assert_int_eq(summary.cached_prompt_tokens, -1); /* no server said it */
    ck_assert_str_eq(summary.paced, "");
    end();
    begin();
    more_workload =
        ",\"prompt_tokens\":100,\"cached_prompt_tokens\":32,\"paced\":\"llama-2-7b on h100\"";
    add(0, 20, 50, 60, 4, "length", "");
    add(10, 20, 50, 60, 4, "length", "");
    ck_assert_int_eq(summarize(NULL, &e), 0);
    ck_assert_int_eq(summary.cached_prompt_tokens, 64);
    ck_assert_int_eq(summary.prompt_tokens, 200);
    ck_assert_str_eq(summary.paced, "llama-2-7b on h100");
    end();
}
END_TEST

START_TEST(nothing_at_all) {
    struct err e;
    begin();
    ck_assert_int_eq(summarize(NULL, &e), 0);
    ck_assert(isnan(summary.offered_rps) && isnan(summary.achieved_rps));
    ck_assert_int_eq(p(summary.scheduled, IV_E2E, 50000), -1);
    end();
}
END_TEST

int main(void) {
    Suite *s = suite_create("summary");
    TCase *t = tcase_create("summary");
    tcase_add_test(t, from_the_schedule_and_as_sent);
    tcase_add_test(t, a_checked_answer_that_was_cut_is_truncated);
    tcase_add_test(t, outside_the_window_nothing_counts_but_ends);
    tcase_add_test(t, a_negative_interval_is_named);
    tcase_add_test(t, limits_are_held_against_the_schedule);
    tcase_add_test(t, the_workload_says_pace_and_cached_tokens);
    tcase_add_test(t, nothing_at_all);
    suite_add_tcase(s, t);
    return check_main(s);
}
