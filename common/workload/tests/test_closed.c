/* test_closed.c: closed loops, alone against the machine-repair formula, and through the simulator
 * against a case by hand and the interactive response time law. */
#include "workload/closed.h"

#include "base/clock.h"
#include "sim/run.h"
#include "testing/check_main.h"

#include <math.h>
#include <string.h>

enum { PLENTY = 1 << 28 };

static struct run run_closed(const char *policy, struct cost_model cost, int32_t clients,
                             double think_s, int64_t requests) {
    struct run_spec spec = {.workload = {.arrivals = ARRIVALS_CLOSED,
                                         .clients = clients,
                                         .think_s = think_s,
                                         .requests = requests,
                                         .seed = 9,
                                         .prompt_tokens = {50, 400},
                                         .output_tokens = {1, 60}},
                            .policy = policy,
                            .cost = cost,
                            .kv_blocks = PLENTY,
                            .token_budget = PLENTY,
                            .max_running = PLENTY,
                            .max_in_system = INT64_MAX,
                            .servers = 1,
                            .router = "round-robin"};
    if (cost.kind == COST_PER_REQUEST)
        spec.workload.prompt_tokens = spec.workload.output_tokens = (struct lengths){1, 1};
    struct run run;
    struct err e = {0};
    int rc = run_once(&spec, &run, &e);
    ck_assert_msg(rc == 0, "%s: %s", e.field, e.text);
    ck_assert_int_eq(run.n, (size_t)requests);
    return run;
}

static struct cost_model fixed_ms(int64_t ms) {
    return (struct cost_model){.kind = COST_PER_REQUEST, .per_request_ns = ms * NS_PER_MS};
}

START_TEST(two_clients_by_hand) {
    struct run run = run_closed("single", fixed_ms(10), 2, 0, 6);
    static const int64_t arrivals_ms[] = {0, 0, 10, 20, 30, 40},
                         ends_ms[] = {10, 20, 30, 40, 50, 60};
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(run.list[i].arrival_ns, arrivals_ms[i] * NS_PER_MS);
        ck_assert_int_eq(run.list[i].end_ns, ends_ms[i] * NS_PER_MS);
    }
    run_release(&run);
    /* groups of two: both end together, both send again at that instant */
    run = run_closed("static:2", fixed_ms(10), 2, 0, 5);
    static const int64_t arrivals2_ms[] = {0, 0, 20, 20, 40}, ends2_ms[] = {20, 20, 40, 40, 50};
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(run.list[i].arrival_ns, arrivals2_ms[i] * NS_PER_MS);
        ck_assert_int_eq(run.list[i].end_ns, ends2_ms[i] * NS_PER_MS);
    }
    run_release(&run);
}
END_TEST

/* The k-th arrival beyond the first N comes at the instant of the k-th end: N are outstanding. */
static int by_time(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

START_TEST(without_think_time_just_n_are_outstanding) {
    static const char *const policies[] = {"single", "static:4", "continuous", "chunked"};
    struct cost_model decoder = {.kind = COST_TRANSFORMER,
                                 .memory_fixed_ps = INT64_C(6700) * 1000 * 1000,
                                 .memory_per_context_ps = 260 * 1000,
                                 .compute_per_token_ps = INT64_C(65) * 1000 * 1000,
                                 .compute_per_attended_fs = 2000,
                                 .overhead_ns = 400 * 1000};
    enum { CLIENTS = 7, REQUESTS = 400 };
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
        struct run run = run_closed(policies[p], decoder, CLIENTS, 0, REQUESTS);
        int64_t ends[REQUESTS];
        for (int i = 0; i < REQUESTS; i++) ends[i] = run.list[i].end_ns;
        qsort(ends, REQUESTS, sizeof *ends, by_time);
        for (int i = 0; i < REQUESTS; i++)
            ck_assert_msg(run.list[i].arrival_ns == (i < CLIENTS ? 0 : ends[i - CLIENTS]),
                          "%s: request %d", policies[p], i);
        run_release(&run);
    }
}
END_TEST

/* R = N / X - Z (Lazowska et al., Quantitative System Performance, 1984, section 3.5), with any
 * server. */
START_TEST(interactive_response_time_law) {
    static const struct {
        const char *policy;
        int clients;
        double think_s;
    } cases[] = {{"single", 20, 0.5}, {"single", 3, 1}, {"static:8", 40, 0.2}, {"single", 60, 0.1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int n = 40000, clients = cases[i].clients;
        struct run run = run_closed(cases[i].policy, fixed_ms(20), clients, cases[i].think_s, n);
        double r_s = 0;
        for (int k = 0; k < n; k++)
            r_s += (double)(run.list[k].end_ns - run.list[k].arrival_ns) / 1e9 / n;
        double x_rps = (double)n / ((double)run.last_end_ns / 1e9);
        /* think times differ from their mean by some standard errors, the ends of the run by N */
        double off = fabs(r_s - (clients / x_rps - cases[i].think_s));
        double allowed = 4 * cases[i].think_s / sqrt(n) + clients / x_rps * clients / n;
        ck_assert_msg(off < allowed, "case %zu: R %g, law %g", i, r_s,
                      clients / x_rps - cases[i].think_s);
        run_release(&run);
    }
}
END_TEST

/* Machine repair, M/M/1//N: with a = service / think the idle share is
 * 1 / (sum over k of N! / (N - k)! a^k), and throughput the busy share / service. */
START_TEST(throughput_of_exponential_clients_at_an_exponential_server) {
    enum { CLIENTS = 10, REQUESTS = 1000000 };
    const int64_t service_ns = 20 * NS_PER_MS, think_ns = 150 * NS_PER_MS;
    struct closed_loop c;
    struct rng services;
    closed_init(&c, CLIENTS, think_ns, 1);
    rng_seed(&services, 2);
    int64_t waiting = 0, end_ns = INT64_MAX;
    for (int done = 0; done < REQUESTS;) {
        int64_t sent_ns = closed_peek_ns(&c), now_ns = sent_ns < end_ns ? sent_ns : end_ns;
        if (now_ns == end_ns) {
            closed_ended(&c, now_ns);
            done++;
            waiting--;
            end_ns = INT64_MAX;
        } else {
            closed_send(&c);
            waiting++;
        }
        if (waiting > 0 && end_ns == INT64_MAX)
            end_ns = now_ns + rng_exponential_ns(&services, service_ns);
        if (done == REQUESTS) {
            double a = (double)service_ns / (double)think_ns, sum = 0, term = 1;
            for (int k = 0; k <= CLIENTS; k++) sum += term, term *= (CLIENTS - k) * a;
            double want_rps = (1 - 1 / sum) / ((double)service_ns / 1e9);
            double got_rps = REQUESTS / ((double)now_ns / 1e9);
            ck_assert_double_eq_tol(got_rps / want_rps, 1, 0.005);
        }
    }
    closed_clear(&c);
}
END_TEST

START_TEST(the_last_group_isnt_held_back) {
    /* no other request can arrive: one that would wait up to a second for a group goes at once */
    struct run run = run_closed("wait-for-time:1000,2", fixed_ms(10), 3, 0, 3);
    ck_assert_int_eq(run.list[2].end_ns, 30 * NS_PER_MS);
    run_release(&run);
}
END_TEST

START_TEST(a_policy_that_waits_for_more_than_there_are_is_told_so) {
    struct run_spec spec = {.workload = {.arrivals = ARRIVALS_CLOSED, .clients = 3, .requests = 9},
                            .policy = "wait-for-n:4",
                            .cost = fixed_ms(1),
                            .kv_blocks = PLENTY,
                            .token_budget = PLENTY,
                            .max_running = PLENTY,
                            .max_in_system = INT64_MAX,
                            .servers = 1,
                            .router = "round-robin"};
    struct run run;
    struct err e = {0};
    ck_assert_int_eq(run_once(&spec, &run, &e), RUN_BAD);
    ck_assert_ptr_nonnull(strstr(e.text, "no client can send"));
}
END_TEST

int main(void) {
    Suite *s = suite_create("closed");
    TCase *t = tcase_create("closed loop");
    tcase_add_test(t, two_clients_by_hand);
    tcase_add_test(t, without_think_time_just_n_are_outstanding);
    tcase_add_test(t, interactive_response_time_law);
    tcase_add_test(t, throughput_of_exponential_clients_at_an_exponential_server);
    tcase_add_test(t, the_last_group_isnt_held_back);
    tcase_add_test(t, a_policy_that_waits_for_more_than_there_are_is_told_so);
    suite_add_tcase(s, t);
    return check_main(s);
}
