/* test_sweep.c: jobs in processes of their own, and the sweeps made of them. */
/* servelab-test: waits */
#include "base/clock.h"
#include "sim/jobs.h"
#include "sim/sweep.h"
#include "testing/check_main.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- jobs ---- */

enum { CRASHES = 900, REFUSES, SLEEPS, INTERRUPTS };

static int square(void *ctx, size_t job, void *answer, struct err *e) {
    int what = ((int *)ctx)[job];
    if (what == CRASHES) abort();
    if (what == REFUSES) return err_set(e, "no such load"), -2;
    if (what == INTERRUPTS) kill(getppid(), SIGINT);
    if (what == SLEEPS || what == INTERRUPTS) pause();
    *(int *)answer = what * what;
    return 0;
}

static int answers[16];
static void take(void *ctx, size_t job, const void *answer) {
    (void)ctx;
    answers[job] = *(const int *)answer;
}

static const char *name(void *ctx, size_t job, char *buf, size_t cap) {
    (void)ctx;
    snprintf(buf, cap, "job %zu", job);
    return buf;
}

static int run_jobs(int *what, size_t n, int parallel, struct err *e) {
    struct jobs j = {square, take, name, what, sizeof(int), parallel};
    memset(answers, 0, sizeof answers);
    return jobs_run(&j, n, e);
}

START_TEST(every_job_answers) {
    int what[] = {1, 2, 3, 4, 5, 6, 7};
    struct err e;
    for (int parallel = 1; parallel < 10; parallel += 4) {
        ck_assert_int_eq(run_jobs(what, 7, parallel, &e), 0);
        for (int i = 0; i < 7; i++) ck_assert_int_eq(answers[i], what[i] * what[i]);
    }
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}
END_TEST

START_TEST(a_crash_is_named) {
    int what[] = {1, CRASHES, SLEEPS};
    struct err e;
    ck_assert_int_eq(run_jobs(what, 3, 2, &e), JOBS_DIED);
    ck_assert_ptr_nonnull(strstr(e.text, "job 1"));
    ck_assert_ptr_nonnull(strstr(e.text, "signal 6"));
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

START_TEST(a_refusal_ends_the_others) {
    int what[] = {SLEEPS, 1, REFUSES, SLEEPS};
    struct err e;
    ck_assert_int_eq(run_jobs(what, 4, 4, &e), -2);
    ck_assert_str_eq(e.text, "job 2: no such load"); /* with the name of the job */
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

START_TEST(a_signal_stops_all_and_keeps_what_was_whole) {
    int what[] = {3, SLEEPS, INTERRUPTS}; /* with two at a time the third begins after the first */
    struct err e;
    ck_assert_int_eq(run_jobs(what, 3, 2, &e), JOBS_STOPPED);
    ck_assert_int_eq(answers[0], 9);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

/* ---- sweeps ---- */

/* Saturates at 1 / 5 ms = 200 requests/s one by one, at 8 / 12 ms = 667 in batches of 8. */
static struct sweep_spec plain(void) {
    return (struct sweep_spec){
        .run = {.workload = {.arrivals = ARRIVALS_POISSON, .requests = 3000, .seed = 5},
                .cost = {.kind = COST_PER_REQUEST,
                         .setup_ns = 4 * NS_PER_MS,
                         .per_request_ns = NS_PER_MS},
                .kv_blocks = 1 << 28,
                .token_budget = 1 << 28,
                .max_running = 1 << 28,
                .max_in_system = INT64_MAX,
                .servers = 1,
                .router = "round-robin",
                .limits = {INT64_MAX, INT64_MAX, INT64_MAX}},
        .policies = {"single", "static:8"},
        .n_policies = 2,
        .jobs = 2};
}

static void sweep_well(const struct sweep_spec *spec, struct sweep *s) {
    struct err e = {0};
    ck_assert_msg(sweep_run(spec, s, &e) == 0, "%s: %s", e.field, e.text);
    ck_assert(s->complete);
}

START_TEST(loads_are_found_around_saturation) {
    struct sweep_spec spec = plain();
    struct sweep s;
    sweep_well(&spec, &s);
    const double want_rps[] = {200, 8000 / 12.0};
    for (int i = 0; i < 2; i++) {
        const struct sweep_policy *p = &s.policies[i];
        ck_assert(fabs(p->guess_rps / want_rps[i] - 1) < 0.02);
        ck_assert(p->knee < p->saturation && p->saturation < p->n - 1);
        double most = p->points[p->saturation].point.throughput_rps;
        ck_assert(most > 0.9 * want_rps[i] && most < 1.05 * want_rps[i]);
        for (size_t k = 1; k < p->n; k++)
            ck_assert(p->points[k].rate_rps > p->points[k - 1].rate_rps);
        ck_assert(!p->points[p->n - 1].point.stable);
        ck_assert(!p->has_capacity); /* no limits, no search */
    }
    sweep_release(&s);
}
END_TEST

/* The knee of M/D/1: throughput over mean latency is greatest where rho (1 - rho) / (1 - rho / 2)
 * is, at rho = 2 - sqrt 2 = 0.586. With loads 2 % apart the sweep's must be near. */
START_TEST(the_knee_of_one_by_one_lies_where_the_closed_form_has_it) {
    struct sweep_spec spec = plain();
    spec.run.workload.requests = 15000;
    spec.n_policies = 1;
    for (int i = 0; i < 20; i++) spec.rates_rps[spec.n_rates++] = 80 + 4 * i;
    struct sweep s;
    sweep_well(&spec, &s);
    double rho = s.policies[0].points[s.policies[0].knee].rate_rps / 200;
    ck_assert_msg(fabs(rho - (2 - sqrt(2))) < 0.05, "the knee is at rho %g", rho);
    sweep_release(&s);
}
END_TEST

START_TEST(the_highest_load_meets_the_limits_and_a_little_more_does_not) {
    struct sweep_spec spec = plain();
    spec.run.limits.ttft_below_ns = 40 * NS_PER_MS;
    struct sweep s;
    sweep_well(&spec, &s);
    for (int i = 0; i < 2; i++) {
        const struct capacity *c = &s.policies[i].capacity;
        ck_assert(s.policies[i].has_capacity && c->found && !c->at_top);
        ck_assert_int_eq(point_verdict(&c->at, &spec.run.limits), SLO_MET);
        struct run_spec one = spec.run;
        one.policy = spec.policies[i];
        one.workload.rate_rps = c->rps * (1 + SWEEP_RESOLUTION);
        struct run r;
        struct run_measures m;
        struct err e;
        ck_assert_int_eq(run_once(&one, &r, &e), 0);
        ck_assert_int_eq(run_measure(&r, &one, &m, &e), 0);
        ck_assert_int_eq(point_verdict(&m.point, &spec.run.limits), SLO_MISSED);
        run_release(&r);
    }
    sweep_release(&s);
}
END_TEST

START_TEST(the_number_of_jobs_changes_nothing) {
    struct sweep_spec spec = plain();
    spec.run.workload.requests = 300;
    spec.run.limits.ttft_below_ns = 40 * NS_PER_MS;
    struct sweep a, b;
    spec.jobs = 1;
    sweep_well(&spec, &a);
    spec.jobs = 5;
    sweep_well(&spec, &b);
    for (int i = 0; i < 2; i++) {
        const struct sweep_policy *p = &a.policies[i], *q = &b.policies[i];
        ck_assert_int_eq((int64_t)p->n, (int64_t)q->n);
        ck_assert_int_eq((int64_t)p->knee, (int64_t)q->knee);
        ck_assert(p->capacity.rps == q->capacity.rps);
        for (size_t k = 0; k < p->n; k++) {
            ck_assert(p->points[k].point.throughput_rps == q->points[k].point.throughput_rps);
            ck_assert_int_eq(p->points[k].point.e2e_p99.ns, q->points[k].point.e2e_p99.ns);
        }
    }
    sweep_release(&a);
    sweep_release(&b);
}
END_TEST

START_TEST(a_policy_that_completes_nothing_is_told) {
    struct sweep_spec spec = plain();
    spec.run.kv_blocks = 1;
    spec.run.workload.prompt_tokens = (struct lengths){100, 100};
    struct sweep s;
    struct err e;
    ck_assert_int_eq(sweep_run(&spec, &s, &e), RUN_BAD);
    ck_assert_str_eq(e.field, "--rates");
    /* with loads given every request is refused, and that is a result */
    spec.n_rates = 2;
    spec.rates_rps[0] = 10, spec.rates_rps[1] = 20;
    spec.run.limits.ttft_below_ns = NS_PER_S;
    sweep_well(&spec, &s);
    ck_assert_int_eq(s.policies[0].points[1].point.shed, 3000);
    ck_assert_int_eq((int64_t)s.policies[0].knee, 2); /* none */
    ck_assert(!s.policies[0].capacity.found);
    sweep_release(&s);
}
END_TEST

int main(void) {
    Suite *s = suite_create("sweep");
    TCase *c = tcase_create("sweep");
    tcase_add_test(c, every_job_answers);
    tcase_add_test(c, a_crash_is_named);
    tcase_add_test(c, a_refusal_ends_the_others);
    tcase_add_test(c, a_signal_stops_all_and_keeps_what_was_whole);
    tcase_add_test(c, loads_are_found_around_saturation);
    tcase_add_test(c, the_knee_of_one_by_one_lies_where_the_closed_form_has_it);
    tcase_add_test(c, the_highest_load_meets_the_limits_and_a_little_more_does_not);
    tcase_add_test(c, the_number_of_jobs_changes_nothing);
    tcase_add_test(c, a_policy_that_completes_nothing_is_told);
    suite_add_tcase(s, c);
    return check_main(s);
}
