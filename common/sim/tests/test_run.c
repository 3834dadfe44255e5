/* test_run.c: one run as a whole: accounting that balances, and an imbalance that is found; the
 * window, requests that aren't complete in every denominator, records that agree with outcomes. */
#include "base/clock.h"
#include "record/intervals.h"
#include "record/record.h"
#include "sim/recorder.h"
#include "sim/run.h"
#include "testing/check_main.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A machine whose figures are easy: 1 ms a request and 4 ms setup an iteration. */
static struct run_spec plain(const char *policy) {
    return (struct run_spec){
        .workload = {.arrivals = ARRIVALS_POISSON,
                     .requests = 400,
                     .rate_rps = 50,
                     .seed = 7,
                     .prompt_tokens = {10, 40},
                     .output_tokens = {1, 12}},
        .policy = policy,
        .cost = {.kind = COST_PER_REQUEST, .setup_ns = 4 * NS_PER_MS, .per_request_ns = NS_PER_MS},
        .kv_blocks = 1000,
        .token_budget = 512,
        .max_running = 64,
        .max_in_system = INT64_MAX,
        .servers = 1,
        .router = "round-robin",
        .limits = {INT64_MAX, INT64_MAX, INT64_MAX}};
}

static void run_well(const struct run_spec *spec, struct run *r) {
    struct err e = {0};
    int rc = run_once(spec, r, &e);
    ck_assert_msg(rc == 0, "%s: %s", e.field, e.text);
}

static void measure_well(const struct run *r, const struct run_spec *spec, struct run_measures *m) {
    struct err e = {0};
    ck_assert_msg(!run_measure(r, spec, m, &e), "%s", e.text);
}

/* ---- books ---- */

START_TEST(books_that_do_not_balance_are_seen) {
    struct run_spec spec = plain("continuous");
    struct run r;
    struct err e;
    run_well(&spec, &r);
    ck_assert_int_eq(run_check(&r, &e), 0);

    r.counters.in_system_time += 1; /* one request for one nanosecond too long */
    ck_assert_int_eq(run_check(&r, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "Little's law"));
    r.counters.in_system_time -= 1;
    r.list[17].end_ns += 1;
    ck_assert_int_eq(run_check(&r, &e), -1);
    r.list[17].end_ns = -1; /* never ended */
    ck_assert_int_eq(run_check(&r, &e), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "17"));
    r.list[17].end_ns = r.list[17].arrival_ns;
    r.counters.arrivals++;
    ck_assert_int_eq(run_check(&r, &e), -1);
    run_release(&r);
}
END_TEST

START_TEST(a_fleet_keeps_its_books_too) {
    struct run_spec spec = plain("continuous");
    spec.servers = 3;
    struct run r;
    struct run_measures m;
    const char *const routers[] = {"round-robin", "least-outstanding", "power-of-two"};
    for (int i = 0; i < 3; i++) {
        spec.router = routers[i];
        run_well(&spec, &r);
        measure_well(&r, &spec, &m);
        ck_assert_int_eq(m.point.complete, 400);
        ck_assert(m.busy_share > 0 && m.busy_share <= 1);
        ck_assert(fabs(m.little_l - m.little_lambda_rps * m.little_w_ns / NS_PER_S) <
                  1e-9 * m.little_l);
        run_release(&r);
    }
}
END_TEST

/* ---- the window ---- */

START_TEST(the_warm_up_takes_requests_out_of_every_count) {
    struct run_spec spec = plain("continuous");
    struct run r;
    struct run_measures m;
    run_well(&spec, &r);
    spec.warm_up_ns = 2 * NS_PER_S;
    measure_well(&r, &spec, &m);
    int64_t later = 0;
    for (size_t i = 0; i < r.n; i++)
        later += r.list[i].arrival_ns >= r.first_arrival_ns + 2 * NS_PER_S;
    ck_assert_int_gt(later, 0);
    ck_assert_int_lt(later, 400);
    ck_assert_int_eq(m.point.requests, later);
    ck_assert_int_eq((int64_t)m.point.e2e_p50.n, later);
    ck_assert_int_eq((int64_t)m.queue_delay_p50.n, later);
    ck_assert_int_eq(m.to_ns, r.last_arrival_ns + 1);
    spec.warm_up_ns = 1000 * NS_PER_S;
    struct err e;
    ck_assert_int_eq(run_measure(&r, &spec, &m, &e), -1);
    ck_assert_str_eq(e.field, "--warm-up-s");
    run_release(&r);
}
END_TEST

START_TEST(one_instant_has_no_rates) {
    static const int64_t at[] = {5, 5, 5};
    struct run_spec spec = plain("continuous");
    spec.workload =
        (struct workload_spec){.arrivals = ARRIVALS_LIST, .list_ns = at, .requests = 3, .seed = 1};
    struct run r;
    struct run_measures m;
    run_well(&spec, &r);
    measure_well(&r, &spec, &m);
    ck_assert(!m.has_rates);
    ck_assert_int_eq(m.point.complete, 3);
    ck_assert(m.throughput_rps > 0); /* of the whole run, which lasts */
    run_release(&r);
}
END_TEST

/* ---- every denominator ---- */

/* All of them are in the population, and none of them is a fast one. */
static void all_are_counted(const struct operating_point *p, int64_t n, int64_t lost) {
    ck_assert_int_eq(p->requests, n);
    ck_assert_int_eq(p->complete + p->shed + p->truncated + p->broken, n);
    ck_assert_int_eq(p->complete, n - lost);
    ck_assert_int_eq(p->good, n - lost);
    ck_assert_int_eq((int64_t)p->e2e_p99.n, n);
    ck_assert_int_eq((int64_t)p->e2e_p99.failed, lost);
    ck_assert_int_eq((int64_t)p->ttft_p99.n, n);
    ck_assert(p->e2e_p99.infinite == (lost * 100 > n));
}

START_TEST(shed_requests_stay_in_every_denominator) {
    struct run_spec spec = plain("single");
    spec.max_in_system = 3;
    struct run r;
    struct run_measures m;
    run_well(&spec, &r);
    measure_well(&r, &spec, &m);
    ck_assert_int_gt(m.point.shed, 4);
    ck_assert_int_eq(r.queue_full, m.point.shed);
    all_are_counted(&m.point, 400, m.point.shed);
    ck_assert_int_eq((int64_t)r.n, 400);
    ck_assert(m.throughput_rps * (double)m.interval_ns / NS_PER_S <
              400 - (double)m.point.shed + .5);
    struct point_limits none = {INT64_MAX, INT64_MAX, INT64_MAX};
    ck_assert_int_eq(point_verdict(&m.point, &none), SLO_MISSED); /* refusing isn't a way to pass */
    run_release(&r);

    spec = plain("continuous"); /* too large for the cache: at once, and counted */
    spec.kv_blocks = 3;
    run_well(&spec, &r);
    measure_well(&r, &spec, &m);
    ck_assert_int_gt(r.too_large, 0);
    all_are_counted(&m.point, 400, r.too_large);
    run_release(&r);
}
END_TEST

START_TEST(truncated_requests_stay_in_every_denominator) {
    struct run_spec spec = plain("continuous");
    spec.workload.max_output_tokens = 6;
    struct run r;
    struct run_measures m;
    run_well(&spec, &r);
    measure_well(&r, &spec, &m);
    ck_assert_int_gt(m.point.truncated, 100); /* about half of 1 .. 12 */
    all_are_counted(&m.point, 400, m.point.truncated);
    run_release(&r);
}
END_TEST

START_TEST(broken_requests_stay_in_every_denominator) {
    struct run_spec spec = plain("continuous");
    spec.workload.fail_rate = 0.1;
    struct run r;
    struct run_measures m;
    run_well(&spec, &r);
    measure_well(&r, &spec, &m);
    ck_assert_int_gt(m.point.broken, 10);
    all_are_counted(&m.point, 400, m.point.broken);
    run_release(&r);
}
END_TEST

/* ---- closed loops ---- */

static void most_in_system(void *ctx, int64_t id, enum event_kind kind, int64_t t_ns) {
    (void)id;
    (void)t_ns;
    int *count = ctx; /* now, most */
    if (kind == EV_REQUEST_ACCEPTED && ++count[0] > count[1]) count[1] = count[0];
    if (kind == EV_RESPONSE_FINISHED) count[0]--;
}

START_TEST(a_closed_loop_never_has_more_requests_than_clients) {
    struct run_spec spec = plain("continuous");
    spec.workload = (struct workload_spec){.arrivals = ARRIVALS_CLOSED,
                                           .requests = 300,
                                           .clients = 5,
                                           .think_s = 0.01,
                                           .seed = 3,
                                           .prompt_tokens = {10, 40},
                                           .output_tokens = {1, 12}};
    int count[2] = {0, 0};
    spec.event = most_in_system;
    spec.ctx = count;
    struct run r;
    run_well(&spec, &r);
    ck_assert_int_eq((int64_t)r.n, 300);
    ck_assert_int_eq(count[0], 0);
    ck_assert_int_eq(count[1], 5);
    run_release(&r);
}
END_TEST

/* ---- records ---- */

struct seen {
    const struct run *run;
    size_t n;
    int64_t gaps[16384];
    size_t n_gaps, failed;
};

static int compare_with_list(const struct record *rec, int line, void *ctx) {
    struct seen *s = ctx;
    (void)line;
    long id;
    ck_assert_int_eq(sscanf(rec->request_id, "sim-%ld", &id), 1);
    const struct point_request *p = &s->run->list[id];
    struct point_intervals want;
    struct intervals iv;
    point_intervals(p, &want);
    intervals_compute(rec, &iv);
    ck_assert_int_eq(iv.queue_delay.status == INTERVAL_OK ? iv.queue_delay.ns : -1,
                     want.queue_delay_ns);
    ck_assert_int_eq(iv.server_ttft.status == INTERVAL_OK ? iv.server_ttft.ns : -1, want.ttft_ns);
    ck_assert_int_eq(iv.e2e.status == INTERVAL_OK ? iv.e2e.ns : -1, want.e2e_ns);
    if (p->end == POINT_DONE)
        ck_assert_int_eq(iv.tpot.status == INTERVAL_OK ? iv.tpot.ns : -1, want.tpot_ns);
    enum point_class class = point_classify(p);
    ck_assert(rec->outcome.delivered == (p->end == POINT_DONE));
    ck_assert(!strcmp(rec->outcome.finish_reason, "length") == (class == POINT_TRUNCATED));
    for (size_t i = 0; i < rec->n_events; i++) {
        ck_assert_int_eq(rec->events[i].clock, CLOCK_SIM);
        ck_assert_int_eq(rec->events[i].source, SRC_SIMULATOR);
    }
    if (class == POINT_COMPLETE)
        s->n_gaps += intervals_itl(rec, s->gaps + s->n_gaps, 16384 - s->n_gaps);
    s->failed += class != POINT_COMPLETE;
    s->n++;
    return 0;
}

static void watch_event(void *ctx, int64_t id, enum event_kind kind, int64_t t_ns) {
    recorder_event(ctx, id, kind, t_ns);
}

/* All ends and preemptions in one run: a small cache, cut answers, breaking requests, a full queue.
 */
static struct run_spec eventful(void) {
    struct run_spec spec = plain("continuous");
    spec.workload.max_output_tokens = 60;
    spec.workload.fail_rate = 0.05;
    spec.workload.rate_rps = 120;
    spec.workload.output_tokens = (struct lengths){1, 80};
    spec.kv_blocks = 12;
    spec.max_in_system = 12;
    return spec;
}

START_TEST(records_agree_with_outcomes_to_the_nanosecond) {
    char path[64], partial[80];
    snprintf(path, sizeof path, "/tmp/servelab-run-%d.jsonl", (int)getpid());
    snprintf(partial, sizeof partial, "%s.partial", path);
    struct run_spec spec = eventful();
    struct err e;
    struct recorder *rec = recorder_create(path, "none", &e);
    ck_assert_ptr_nonnull(rec);
    spec.event = watch_event;
    spec.ended = recorder_outcome;
    spec.ctx = rec;
    struct run r;
    run_well(&spec, &r);
    ck_assert_int_gt(r.counters.preemptions, 0);
    ck_assert_int_gt(r.queue_full, 0);
    ck_assert_int_ne(access(path, F_OK), 0); /* not under its name before it is whole */
    ck_assert_int_eq(access(partial, F_OK), 0);
    ck_assert_int_eq(recorder_finish(rec, &e), 0);
    ck_assert_int_ne(access(partial, F_OK), 0);

    static struct seen seen;
    seen = (struct seen){.run = &r};
    ck_assert_int_eq(record_each(path, compare_with_list, &seen, &e), 0);
    ck_assert_int_eq((int64_t)seen.n, 400);
    struct percentile got = recorder_itl(rec, INT64_MIN, 99000);
    struct percentile want = percentile_nearest_rank(seen.gaps, seen.n_gaps, seen.failed, 99000);
    ck_assert_int_eq(got.ns, want.ns);
    ck_assert_int_eq((int64_t)got.n, (int64_t)want.n);
    ck_assert(got.infinite == want.infinite);
    unlink(path);
    recorder_free(rec);
    run_release(&r);
}
END_TEST

START_TEST(watching_changes_nothing) {
    struct run_spec spec = eventful(), watched = spec;
    struct err e;
    struct recorder *rec = recorder_create(NULL, "none", &e);
    watched.event = watch_event;
    watched.ended = recorder_outcome;
    watched.ctx = rec;
    struct run a, b;
    run_well(&spec, &a);
    run_well(&watched, &b);
    ck_assert_int_eq((int64_t)a.n, (int64_t)b.n);
    ck_assert_mem_eq(a.list, b.list, a.n * sizeof *a.list);
    recorder_free(rec);
    run_release(&a);
    run_release(&b);
}
END_TEST

START_TEST(an_outcome_that_the_events_contradict_is_our_fault) {
    struct err e;
    struct recorder *rec = recorder_create(NULL, "none", &e);
    const enum event_kind kinds[] = {EV_REQUEST_ACCEPTED, EV_REQUEST_ADMITTED,
                                     EV_FIRST_TOKEN,      EV_TOKEN_SENT,
                                     EV_TOKEN_SENT,       EV_RESPONSE_FINISHED};
    const int64_t at[] = {10, 20, 30, 30, 45, 45};
    for (int i = 0; i < 6; i++) recorder_event(rec, 0, kinds[i], at[i]);
    struct sim_outcome o = {.request = {.id = 0,
                                        .arrival_ns = 10,
                                        .prompt_tokens = 1,
                                        .output_tokens = 2,
                                        .max_output_tokens = 2},
                            .end = SIM_COMPLETED,
                            .start_ns = 20,
                            .first_token_ns = 31, /* the event says 30 */
                            .completion_ns = 45,
                            .output_tokens = 2};
    recorder_outcome(rec, &o);
    ck_assert_int_eq(recorder_finish(rec, &e), RECORDER_OURS);
    ck_assert_ptr_nonnull(strstr(e.text, "ttft"));
    recorder_free(rec);
}
END_TEST

START_TEST(a_log_that_was_not_finished_leaves_nothing) {
    char path[64], partial[80];
    snprintf(path, sizeof path, "/tmp/servelab-left-%d.jsonl", (int)getpid());
    snprintf(partial, sizeof partial, "%s.partial", path);
    struct err e;
    struct recorder *rec = recorder_create(path, "none", &e);
    ck_assert_ptr_nonnull(rec);
    ck_assert_int_eq(access(partial, F_OK), 0);
    recorder_free(rec);
    ck_assert_int_ne(access(partial, F_OK), 0);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_ptr_null(recorder_create("/nonexistent/records.jsonl", "none", &e));
    ck_assert_str_eq(e.field, "--records");
}
END_TEST

int main(void) {
    Suite *s = suite_create("run");
    TCase *c = tcase_create("run");
    tcase_add_test(c, books_that_do_not_balance_are_seen);
    tcase_add_test(c, a_fleet_keeps_its_books_too);
    tcase_add_test(c, the_warm_up_takes_requests_out_of_every_count);
    tcase_add_test(c, one_instant_has_no_rates);
    tcase_add_test(c, shed_requests_stay_in_every_denominator);
    tcase_add_test(c, truncated_requests_stay_in_every_denominator);
    tcase_add_test(c, broken_requests_stay_in_every_denominator);
    tcase_add_test(c, a_closed_loop_never_has_more_requests_than_clients);
    tcase_add_test(c, records_agree_with_outcomes_to_the_nanosecond);
    tcase_add_test(c, watching_changes_nothing);
    tcase_add_test(c, an_outcome_that_the_events_contradict_is_our_fault);
    tcase_add_test(c, a_log_that_was_not_finished_leaves_nothing);
    suite_add_tcase(s, c);
    return check_main(s);
}
