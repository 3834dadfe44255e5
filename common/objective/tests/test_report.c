/* test_report.c: the reference report.c against cases by hand: attempts, retries, the window,
 * outages, verdicts, regions. */
#include "objective/report.h"
#include "testing/check_main.h"

#include <math.h>
#include <string.h>

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

/* ---- records and requests -------------------------------------------------------------------- */

static void stamp(struct record *r, enum event_kind kind, enum clock_id clock, int64_t t_ns) {
    struct event ev = {.kind = kind, .clock = clock, .t_ns = t_ns};
    strcpy(ev.clock_api, "CLOCK_MONOTONIC");
    ck_assert_int_eq(record_add_event(r, &ev, NULL), 0);
}

/* Delivered: sent at 100 ms, first byte at 150, last at 350 on the client's clock; accepted at 5,
 * finished at 215 on the server's. */
static struct record delivered(void) {
    struct record r;
    record_init(&r);
    strcpy(r.request_id, "a");
    r.attempt = 1;
    r.workload.prompt_tokens = 2048;
    r.workload.output_tokens = 11;
    r.outcome.delivered = true;
    r.outcome.http_status = 200;
    strcpy(r.outcome.finish_reason, "stop");
    strcpy(r.quality.check, "key-recall/1");
    r.quality.verdict = VERDICT_PASSED;
    stamp(&r, EV_REQUEST_SUBMITTED, CLOCK_BROWSER, 100 * MS);
    stamp(&r, EV_REQUEST_ACCEPTED, CLOCK_SERVER, 5 * MS);
    stamp(&r, EV_REQUEST_ADMITTED, CLOCK_SERVER, 10 * MS);
    stamp(&r, EV_FIRST_TOKEN, CLOCK_SERVER, 40 * MS);
    stamp(&r, EV_FIRST_BYTE_RECEIVED, CLOCK_BROWSER, 150 * MS);
    stamp(&r, EV_RESPONSE_FINISHED, CLOCK_SERVER, 215 * MS);
    stamp(&r, EV_FINAL_BYTE_RECEIVED, CLOCK_BROWSER, 350 * MS);
    return r;
}

static struct objective no_limits(void) {
    struct objective o = {.kind = OBJECTIVE_SERVING};
    o.quality.min_pass_rate = o.throughput.min_rps = o.throughput.offered_rps = NAN;
    o.reliability.max_failure_rate = o.reliability.max_recovery_s = NAN;
    o.resource.accelerators = o.resource.usd_per_accelerator_hour = NAN;
    o.hard_limits.gpu_memory_gib = o.hard_limits.joules_per_response = NAN;
    return o;
}

static void fails_by(struct objective *o, enum completion_reason reason) {
    strcpy(o->reliability.failures[o->reliability.n_failures++], completion_reason_name(reason));
}

/* An attempt of request `id` that passed. */
static struct report_attempt attempt(const char *id, int64_t submitted_ns, int64_t ended_ns) {
    struct report_attempt a = {.attempt = 1,
                               .line = 1,
                               .submitted_ns = submitted_ns,
                               .ended_ns = ended_ns,
                               .quality = VERDICT_PASSED,
                               .structure = VERDICT_NOT_REQUIRED,
                               .prompt_tokens = 10,
                               .cached_prompt_tokens = 0,
                               .output_tokens = 2,
                               .gpu_seconds = 0.5,
                               .joules = NAN};
    strcpy(a.request_id, id);
    strcpy(a.check, "key-recall/1");
    for (enum interval_id i = 0; i < IV_N; i++)
        *(struct interval *)interval_get(&a.iv, i) = (struct interval){.status = INTERVAL_ABSENT};
    a.iv.e2e = (struct interval){.status = INTERVAL_OK, .ns = ended_ns - submitted_ns};
    a.iv.client_ttft = (struct interval){.status = INTERVAL_OK, .ns = 10 * MS};
    return a;
}

static void failed(struct report_attempt *a, enum completion_reason reason) {
    a->reason = reason;
    a->iv.e2e.status = a->iv.client_ttft.status = INTERVAL_ABSENT;
}

/* Groups and measures n attempts over [from, to]. */
static struct report_point measured(const struct objective *o, const struct report_attempt *all,
                                    size_t n, int64_t from_ns, int64_t to_ns) {
    struct report_request requests[64];
    struct report_window w = {.from_ns = from_ns, .to_ns = to_ns};
    struct report_point p;
    struct err e = {0};
    size_t n_requests;
    ck_assert_int_eq(report_group(o, all, n, requests, &n_requests, &e), 0);
    ck_assert_msg(report_measure(o, requests, n_requests, &w, &p, &e) == 0, "%s", e.text);
    return p;
}

/* ---- one attempt ----------------------------------------------------------------------------- */

START_TEST(the_clients_lag_is_part_of_what_a_user_waits) {
    struct record r = delivered();
    struct report_attempt a;
    ck_assert_int_eq(report_attempt(&r, 90 * MS, TRUNCATION_REJECT, &a, NULL), 0);
    ck_assert_int_eq(a.submitted_ns, 90 * MS);
    ck_assert_int_eq(a.ended_ns, 350 * MS);
    ck_assert_int_eq(a.iv.client_ttft.ns, 60 * MS);
    ck_assert_int_eq(a.iv.e2e.ns, 260 * MS);
    ck_assert_int_eq(a.iv.server_ttft.ns, 35 * MS); /* the server knows of no lag */
    ck_assert_int_eq(report_attempt(&r, -1, TRUNCATION_REJECT, &a, NULL), 0);
    ck_assert_int_eq(a.submitted_ns, 100 * MS);
    ck_assert_int_eq(a.iv.client_ttft.ns, 50 * MS);
    ck_assert_str_eq(a.check, "key-recall/1");
    ck_assert(!a.at_server && a.reason == REASON_DELIVERED && a.quality == VERDICT_PASSED);
    record_release(&r);
}
END_TEST

START_TEST(a_negative_interval_is_an_error_that_names_it) {
    struct record r = delivered();
    struct report_attempt a;
    struct err e = {0};
    ck_assert_int_eq(report_attempt(&r, 160 * MS, TRUNCATION_REJECT, &a, &e), -1);
    ck_assert_str_eq(e.field, "client_ttft");
    record_release(&r);
}
END_TEST

START_TEST(the_server_says_when_a_request_ended_that_the_client_lost) {
    struct record r = delivered();
    struct report_attempt a;
    r.n_events--; /* final_byte_received */
    r.outcome.delivered = false;
    ck_assert_int_eq(report_attempt(&r, 90 * MS, TRUNCATION_REJECT, &a, NULL), 0);
    ck_assert_int_eq(a.ended_ns, 90 * MS + 210 * MS);
    ck_assert_int_eq(a.reason, REASON_NOT_DELIVERED);
    r.n_events = 1; /* only request_submitted */
    ck_assert_int_eq(report_attempt(&r, 90 * MS, TRUNCATION_REJECT, &a, NULL), 0);
    ck_assert_int_eq(a.ended_ns, -1);
    record_release(&r);
}
END_TEST

START_TEST(without_the_clients_half_times_are_the_servers) {
    struct record r = delivered();
    struct report_attempt a;
    memmove(r.events, r.events + 1, 3 * sizeof *r.events); /* accepted, admitted, first token */
    r.events[3] = r.events[5];                             /* finished */
    r.n_events = 4;
    ck_assert_int_eq(report_attempt(&r, -1, TRUNCATION_REJECT, &a, NULL), 0);
    ck_assert(a.at_server);
    ck_assert_int_eq(a.submitted_ns, 5 * MS);
    ck_assert_int_eq(a.ended_ns, 215 * MS);
    ck_assert_int_eq(a.iv.client_ttft.status, INTERVAL_ABSENT);
    record_release(&r);
}
END_TEST

/* ---- user requests --------------------------------------------------------------------------- */

START_TEST(a_retry_is_one_request_whose_user_waited_since_the_first_try) {
    struct objective o = no_limits();
    struct report_attempt all[] = {attempt("b", 30 * S, 31 * S), attempt("a", 20 * S, 22 * S),
                                   attempt("a", 10 * S, 11 * S)};
    struct report_request out[3];
    size_t n;
    all[1].attempt = 2;
    failed(&all[2], REASON_INTERNAL_ERROR);
    ck_assert_int_eq(report_group(&o, all, 3, out, &n, NULL), 0);
    ck_assert_uint_eq(n, 2);
    ck_assert_str_eq(out[0].deciding->request_id, "a");
    ck_assert(out[0].c.completed && out[0].c.useful && out[0].good);
    ck_assert_int_eq(out[0].attempts, 2);
    ck_assert_int_eq(out[0].arrival_ns, 10 * S);
    ck_assert_int_eq(out[0].iv.e2e.ns, 12 * S);
    ck_assert_int_eq(out[0].iv.client_ttft.ns, 10 * S + 10 * MS);
    ck_assert_double_eq(out[0].gpu_seconds, 1);
    ck_assert(isnan(out[0].joules));
    ck_assert_int_eq(all[1].iv.e2e.ns, 2 * S); /* attempts are not changed */
}
END_TEST

START_TEST(an_attempt_that_is_there_twice_is_an_error) {
    struct objective o = no_limits();
    struct report_attempt all[] = {attempt("a", 1, 2), attempt("b", 1, 2), attempt("a", 1, 2)};
    struct report_request out[3];
    struct err e = {0};
    size_t n;
    for (int i = 0; i < 3; i++) all[i].line = i + 1;
    ck_assert_int_eq(report_group(&o, all, 3, out, &n, &e), -1);
    ck_assert_int_eq(e.line, 3);
    ck_assert_msg(strstr(e.text, "line 1") != NULL, "%s", e.text);
}
END_TEST

/* ---- an operating point ---------------------------------------------------------------------- */

START_TEST(both_ends_of_the_window_belong_to_it) {
    struct objective o = no_limits();
    struct report_attempt all[] = {attempt("a", 9, 20), attempt("b", 10, 20), attempt("c", 20, 30),
                                   attempt("d", 21, 30)};
    struct report_point p = measured(&o, all, 4, 10, 20);
    ck_assert_int_eq(p.requests, 2);
    ck_assert_int_eq(p.completed, 2);
    ck_assert_double_eq(p.counts.interval_s, 1e-8);
}
END_TEST

START_TEST(what_was_not_completed_is_infinite) {
    struct objective o = no_limits();
    struct report_attempt all[4];
    o.latency[0] = (struct latency_limit){IV_E2E, SCOPE_POPULATION, 75000, S};
    o.latency[1] = (struct latency_limit){IV_TPOT, SCOPE_POPULATION, 50000, S};
    o.n_latency = 2;
    for (int i = 0; i < 4; i++) all[i] = attempt((char[]){(char)('a' + i), 0}, i, i + 100 + i);
    failed(&all[1], REASON_REJECTED);
    struct report_point p = measured(&o, all, 4, 0, 10);
    ck_assert(p.limit[0].present && !p.limit[0].infinite && p.limit[0].ns == 103);
    failed(&all[2], REASON_TRUNCATED);
    p = measured(&o, all, 4, 0, 10);
    ck_assert(p.limit[0].infinite && p.limit[0].n == 4 && p.limit[0].failed == 2);
    ck_assert_int_eq(p.limit_of_ok[0].ns, 103);
    ck_assert(p.limit[1].infinite && !p.limit_of_ok[1].present); /* no one has a TPOT */
    ck_assert_int_eq(p.by_reason[REASON_REJECTED], 1);
    ck_assert_int_eq(p.load.shed, 1);
    ck_assert_int_eq(p.load.truncated, 1);
}
END_TEST

START_TEST(a_request_that_no_client_measured_is_in_the_servers_percentiles) {
    struct objective o = no_limits();
    struct report_attempt all[] = {attempt("a", 0, 5), attempt("b", 1, 6)};
    o.latency[0] = (struct latency_limit){IV_E2E, SCOPE_POPULATION, 50000, S};
    o.latency[1] = (struct latency_limit){IV_SERVER_TTFT, SCOPE_POPULATION, 50000, S};
    o.n_latency = 2;
    fails_by(&o, REASON_NOT_DELIVERED);
    for (int i = 0; i < 2; i++)
        all[i].iv.server_ttft = (struct interval){.status = INTERVAL_OK, .ns = i + 1};
    failed(&all[1], REASON_NOT_DELIVERED);
    all[1].finished_by_server = true;
    struct report_point p = measured(&o, all, 2, 0, 10);
    ck_assert(p.finished_by_server == 1 && p.completed == 1 && p.counts.failed == 0);
    ck_assert_int_eq(p.by_reason[REASON_NOT_DELIVERED], 0);
    ck_assert(!p.limit[0].present);
    ck_assert(p.limit[1].present && p.limit[1].n == 2 && p.limit[1].failed == 0);
    ck_assert_int_eq(p.load.complete, 2);
    ck_assert(!p.recovery.unended && p.recovery.outages == 0);
    all[1].finished_by_server = false;
    p = measured(&o, all, 2, 0, 10);
    ck_assert(p.counts.failed == 1 && p.limit[1].failed == 1 && p.recovery.unended);
}
END_TEST

START_TEST(useful_is_not_known_where_nothing_was_evaluated) {
    struct objective o = no_limits();
    struct report_attempt all[] = {attempt("a", 0, 5), attempt("b", 1, 6)};
    strcpy(o.quality.check, "key-sum/1");
    struct report_point p = measured(&o, all, 2, 0, 10);
    ck_assert_int_eq(p.counts.useful, 2);
    ck_assert_int_eq(p.other_check, 2);
    all[0].quality = all[1].quality = VERDICT_NOT_EVALUATED;
    all[1].output_tokens = -1;
    p = measured(&o, all, 2, 0, 10);
    ck_assert_int_eq(p.counts.useful, -1);
    ck_assert_int_eq(p.other_check, 0);
    o.quality.check[0] = '\0';
    ck_assert_int_eq(measured(&o, all, 2, 0, 10).counts.useful, -1);
    ck_assert_int_eq(p.output_tokens, -1);
    ck_assert_int_eq(p.prompt_tokens, 20);
    failed(&all[0], REASON_REJECTED);
    failed(&all[1], REASON_REJECTED); /* nothing was completed, so nothing was useful */
    ck_assert_int_eq(measured(&o, all, 2, 0, 10).counts.useful, 0);
}
END_TEST

START_TEST(an_outage_ends_with_a_request_that_came_after_it_began) {
    struct objective o = no_limits();
    struct report_attempt all[] = {
        attempt("a", 0, 10), attempt("b", 5, 20), /* still good when a fails: no recovery */
        attempt("c", 11, 12), attempt("d", 13, 40), attempt("e", 50, 60)};
    fails_by(&o, REASON_INTERNAL_ERROR);
    failed(&all[0], REASON_INTERNAL_ERROR);
    failed(&all[2], REASON_INTERNAL_ERROR);
    struct report_point p = measured(&o, all, 5, 0, 60);
    ck_assert_int_eq(p.recovery.outages, 1);
    ck_assert_int_eq(p.recovery.longest_ns, 30);
    ck_assert(!p.recovery.unended);
    failed(&all[4], REASON_INTERNAL_ERROR);
    p = measured(&o, all, 5, 0, 60);
    ck_assert(p.recovery.outages == 2 && p.recovery.unended);
    o.reliability.n_failures = 0; /* nothing counts as a failure */
    p = measured(&o, all, 5, 0, 60);
    ck_assert(p.recovery.outages == 0 && !p.recovery.unended);
}
END_TEST

START_TEST(an_empty_window_is_an_error) {
    struct objective o = no_limits();
    struct report_attempt a = attempt("a", 5, 6);
    struct report_request q;
    struct report_point p;
    struct err e = {0};
    size_t n;
    ck_assert_int_eq(report_group(&o, &a, 1, &q, &n, &e), 0);
    ck_assert_int_eq(report_measure(&o, &q, 1, &(struct report_window){5, 5, 0}, &p, &e), -1);
    ck_assert_int_eq(report_measure(&o, &q, 1, &(struct report_window){6, 9, 0}, &p, &e), -1);
}
END_TEST

/* ---- verdicts -------------------------------------------------------------------------------- */

static struct report_point stable_point(void) {
    struct report_point p = {.useful = 10, .gpu_seconds = NAN, .joules = NAN};
    p.load.stable = true;
    p.counts = (struct slo_counts){10, 10, 0, 10, 10, 1};
    return p;
}

START_TEST(a_verdict_needs_every_part) {
    struct objective o = no_limits();
    struct report_point p = stable_point();
    ck_assert_int_eq(report_verdict(&o, &p), SLO_MET);
    p.load.stable = false;
    ck_assert_int_eq(report_verdict(&o, &p), SLO_MISSED);
    p.load.stable = true;
    o.reliability.max_recovery_s = 2;
    p.recovery = (struct report_recovery){1, 2 * S - 1, false};
    ck_assert_int_eq(report_verdict(&o, &p), SLO_MET);
    p.recovery.longest_ns = 2 * S;
    ck_assert_int_eq(report_verdict(&o, &p), SLO_MISSED);
    p.recovery = (struct report_recovery){1, 0, true};
    ck_assert_int_eq(report_verdict(&o, &p), SLO_MISSED);
    p.recovery.unended = false;
    o.quality.min_pass_rate = 0.95;
    p.counts.quality_evaluated = 0;
    ck_assert_int_eq(report_verdict(&o, &p), SLO_NOT_COMPUTABLE);
}
END_TEST

START_TEST(hard_limits_need_their_figures) {
    struct objective o = no_limits();
    struct report_point p = stable_point();
    o.hard_limits.joules_per_response = 5;
    ck_assert_int_eq(report_verdict(&o, &p), SLO_NOT_COMPUTABLE);
    p.joules = 49;
    ck_assert_int_eq(report_verdict(&o, &p), SLO_MET);
    p.joules = 50;
    ck_assert_int_eq(report_verdict(&o, &p), SLO_MISSED);
    p.joules = 49;
    p.counts.useful = -1;
    ck_assert_int_eq(report_verdict(&o, &p), SLO_NOT_COMPUTABLE);
    o = no_limits();
    o.hard_limits.gpu_memory_gib = 80;
    ck_assert_int_eq(report_verdict(&o, &p), SLO_NOT_COMPUTABLE);
    p.counts.useful = 10;
    p.joules = 50;
    o.hard_limits.joules_per_response = 5; /* a sure miss beside what is not known */
    ck_assert_int_eq(report_verdict(&o, &p), SLO_MISSED);
    p.joules = 49;
    ck_assert_int_eq(report_verdict(&o, &p), SLO_NOT_COMPUTABLE);
    p.load.stable = false; /* missed comes first */
    ck_assert_int_eq(report_verdict(&o, &p), SLO_MISSED);
}
END_TEST

START_TEST(the_best_valid_point_is_the_most_useful_one) {
    struct objective o = no_limits();
    struct report_point points[3] = {stable_point(), stable_point(), stable_point()};
    struct report_regions r;
    points[1].useful = 30;
    points[2].useful = 90;
    points[2].load.stable = false;
    for (int i = 0; i < 3; i++) {
        points[i].load.throughput_rps = 1 + i;
        points[i].load.mean_latency_ns = i == 0 ? 1 : 10;
    }
    ck_assert_int_eq(report_regions(&o, points, 3, &r, NULL), 0);
    ck_assert_int_eq(r.knee, 0);
    ck_assert_int_eq(r.saturation, 1);
    ck_assert_int_eq(r.best_valid, 1);
    ck_assert_int_eq(report_regions(&o, points + 2, 1, &r, NULL), 0);
    ck_assert(r.knee == 0 && r.saturation == -1 && r.best_valid == -1);
    ck_assert_int_eq(report_regions(&o, NULL, 0, &r, NULL), 0);
    ck_assert(r.knee == -1 && r.saturation == -1 && r.best_valid == -1);
}
END_TEST

int main(void) {
    Suite *s = suite_create("report");
    TCase *t = tcase_create("report");
    tcase_add_test(t, the_clients_lag_is_part_of_what_a_user_waits);
    tcase_add_test(t, a_negative_interval_is_an_error_that_names_it);
    tcase_add_test(t, the_server_says_when_a_request_ended_that_the_client_lost);
    tcase_add_test(t, without_the_clients_half_times_are_the_servers);
    tcase_add_test(t, a_retry_is_one_request_whose_user_waited_since_the_first_try);
    tcase_add_test(t, an_attempt_that_is_there_twice_is_an_error);
    tcase_add_test(t, both_ends_of_the_window_belong_to_it);
    tcase_add_test(t, what_was_not_completed_is_infinite);
    tcase_add_test(t, a_request_that_no_client_measured_is_in_the_servers_percentiles);
    tcase_add_test(t, useful_is_not_known_where_nothing_was_evaluated);
    tcase_add_test(t, an_outage_ends_with_a_request_that_came_after_it_began);
    tcase_add_test(t, an_empty_window_is_an_error);
    tcase_add_test(t, a_verdict_needs_every_part);
    tcase_add_test(t, hard_limits_need_their_figures);
    tcase_add_test(t, the_best_valid_point_is_the_most_useful_one);
    suite_add_tcase(s, t);
    return check_main(s);
}
