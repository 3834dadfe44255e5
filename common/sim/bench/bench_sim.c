/* bench_sim.c: how fast is the simulator? Three loads, all through the event loop, the policies,
 * the plan check, the routers and the outcomes that every other run uses.
 *
 *   bench_sim mm1 [REQUESTS]        M/M/1 at 70 %: requests a second (bench_simpy.py runs the same
 *                                   in SimPy)
 *   bench_sim azure TRACE           the conversation hour, token by token, on one H100
 *   bench_sim week [REQUESTS]       a week of requests (44 million) over 100 H100s, token by token
 *
 * Prints seconds of processor time (user and system) and the peak memory. See SPEED.md.
 */
#include "base/clock.h"
#include "base/rng.h"
#include "sched/policies.h"
#include "sim/fleet.h"
#include "sim/hardware.h"
#include "workload/workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static double cpu_s(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static double peak_mib(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / 1024;
}

static int fail(const struct err *e) {
    char text[600];
    fprintf(stderr, "bench_sim: %s\n", err_format(e, NULL, text, sizeof text));
    return 2;
}

/* ---- M/M/1 ---- */

struct mean {
    int64_t n;
    __int128 sum_ns;
};

static void into_mean(void *ctx, const struct sim_outcome *o) {
    struct mean *m = ctx;
    m->n++;
    m->sum_ns += o->completion_ns - o->request.arrival_ns;
}

static int mm1(int64_t requests) {
    struct err e;
    const char *arg;
    struct mean mean = {0};
    struct sim_config c = {.policy = policy_find("single", &arg, &e),
                           .cost = {.kind = COST_SERVICE},
                           .kv_blocks = 1 << 20,
                           .token_budget = 1 << 20,
                           .max_running = 1,
                           .max_in_system = INT64_MAX,
                           .each = into_mean,
                           .ctx = &mean};
    struct fleet *f = fleet_create(&c, arg, 1, "round-robin", 1, &e); /* as `servelab sim` does */
    if (!f) return fail(&e);
    struct rng arrivals, services;
    rng_seed(&arrivals, 1);
    rng_seed(&services, 2);
    double start_s = cpu_s();
    int64_t at = 0;
    for (int64_t i = 0; i < requests; i++) {
        at += rng_exponential_ns(&arrivals, NS_PER_MS);
        struct sim_request r = {.id = i,
                                .arrival_ns = at,
                                .prompt_tokens = 1,
                                .output_tokens = 1,
                                .max_output_tokens = 1,
                                .service_ns = rng_exponential_ns(&services, NS_PER_MS * 7 / 10)};
        if (fleet_run_until(f, at, &e) || fleet_push(f, &r, &e)) return fail(&e);
    }
    if (fleet_finish(f, &e)) return fail(&e);
    double used_s = cpu_s() - start_s;
    printf("mm1: %" PRId64
           " requests, %.3f s, %.0f requests/s, mean sojourn %.4f ms (theory %.4f), "
           "peak %.1f MiB\n",
           requests, used_s, (double)requests / used_s, (double)mean.sum_ns / (double)mean.n / 1e6,
           0.7 / 0.3, peak_mib());
    fleet_free(f);
    return 0;
}

/* ---- H100s with Llama-2-7B ---- */

static int decoder_config(struct sim_config *c, const char *policy, const char **arg,
                          struct err *e) {
    struct deployment d;
    *c = (struct sim_config){.token_budget = 2048, .max_running = 256, .max_in_system = INT64_MAX};
    c->policy = policy_find(policy, arg, e);
    if (!c->policy || deployment_find("llama-2-7b", "h100", &d, e) ||
        deployment_cost(&d, &c->cost, e))
        return -1;
    c->kv_blocks = (int32_t)deployment_kv_blocks(&d, e);
    return c->kv_blocks < 1 ? -1 : 0;
}

static void print_counters(const char *name, const struct fleet *f, double used_s) {
    struct sim_counters c;
    fleet_counters(f, &c);
    printf("%s: %" PRId64 " requests, %.3f s, %.2f us each; %" PRId64 " iterations (%.1f ns each), "
           "%" PRId64 " policy calls, mean batch %.2f, busy %.1f %%, preemptions %" PRId64
           ", rejected %" PRId64 ", peak %.1f MiB\n",
           name, c.arrivals, used_s, used_s * 1e6 / (double)c.arrivals, c.iterations,
           used_s * 1e9 / (double)c.iterations, c.policy_calls,
           (double)c.batch_time / (double)c.busy_ns,
           100 * (double)c.busy_ns / (double)fleet_servers(f) /
               (double)(c.last_completion_ns - c.first_arrival_ns),
           c.preemptions, c.rejected, peak_mib());
}

static int azure(const char *path, const char *policy) {
    struct err e;
    const char *arg;
    struct sim_config c;
    struct mean mean = {0};
    if (decoder_config(&c, policy, &arg, &e)) return fail(&e);
    c.each = into_mean;
    c.ctx = &mean;
    double start_s = cpu_s();
    struct workload_spec spec = {
        .arrivals = ARRIVALS_TRACE, .trace = path, .trace_format = TRACE_AZURE};
    struct workload *w = workload_open(&spec, &e);
    if (!w) return fail(&e);
    double read_s = cpu_s() - start_s;
    struct fleet *f = fleet_create(&c, arg, 1, "round-robin", 1, &e);
    if (!f) return fail(&e);
    struct sim_request r;
    int got;
    while ((got = workload_next(w, &r, &e)) == 1)
        if (fleet_run_until(f, r.arrival_ns, &e) || fleet_push(f, &r, &e)) return fail(&e);
    if (got < 0 || fleet_finish(f, &e)) return fail(&e);
    double used_s = cpu_s() - start_s;
    char name[64];
    snprintf(name, sizeof name, "azure, %s", policy);
    printf("%s: reading %.3f s, simulating %.3f s, together %.3f s\n", name, read_s,
           used_s - read_s, used_s);
    print_counters(name, f, used_s);
    fleet_free(f);
    workload_close(w);
    return 0;
}

/* ---- a week ---- */

enum { HOURS = 7 * 24, SERVERS = 100, BUCKETS = 64 * 16 };

/* Times to first token in buckets of 1/16 of a power of two: percentiles to 6 %. */
struct histogram {
    int64_t n, count[BUCKETS];
};

static int bucket_of(int64_t ns) {
    if (ns < 16) return (int)ns;
    int power = 63 - __builtin_clzll((uint64_t)ns);
    return (power - 3) * 16 + (int)(ns >> (power - 4) & 15);
}

static double bucket_ms(int bucket) {
    if (bucket < 16) return bucket / 1e6;
    return (double)((INT64_C(16) + bucket % 16 + 1) << (bucket / 16 - 1)) / 1e6;
}

static double percentile_ms(const struct histogram *h, double p) {
    int64_t seen = 0, rank = (int64_t)((double)h->n * p);
    for (int i = 0; i < BUCKETS; i++)
        if ((seen += h->count[i]) > rank) return bucket_ms(i);
    return 0;
}

/* A window is a day of completions; one is kept at a time. */
struct windows {
    int64_t day;
    struct histogram ttft;
    double start_s;
};

static void print_window(const struct windows *w) {
    printf("  day %" PRId64 ": %" PRId64 " responses, ttft p50 %.1f ms, p99 %.1f ms (%.0f s)\n",
           w->day + 1, w->ttft.n, percentile_ms(&w->ttft, 0.5), percentile_ms(&w->ttft, 0.99),
           cpu_s() - w->start_s);
    fflush(stdout);
}

static void into_window(void *ctx, const struct sim_outcome *o) {
    struct windows *w = ctx;
    int64_t day = o->completion_ns / (24 * 3600 * NS_PER_S);
    if (day > 6) day = 6; /* what ends after midnight of the last day */
    if (day != w->day) {
        print_window(w);
        w->day = day;
        memset(&w->ttft, 0, sizeof w->ttft);
    }
    w->ttft.n++;
    w->ttft.count[bucket_of(o->first_token_ns - o->request.arrival_ns)]++;
}

/* Share of the week's requests in each hour, in parts of their sum: nights at a third of the
 * afternoon, weekends at two thirds of a weekday. */
static int64_t hour_weight(int hour) {
    static const int64_t day[24] = {36, 32, 30,  30, 32, 36, 44, 58, 72, 84, 92, 96,
                                    94, 96, 100, 98, 94, 86, 78, 72, 66, 58, 50, 42};
    return day[hour % 24] * (hour / 24 < 5 ? 3 : 2);
}

/* The next arrival after *at: Poisson with a rate that is constant within an hour. At the end of
 * an hour it starts afresh, which a Poisson process may. */
static int64_t next_arrival(struct rng *r, int64_t at, int64_t requests, int64_t weights) {
    for (;;) {
        int64_t hour_ns = 3600 * NS_PER_S, hour = at / hour_ns;
        if (hour >= HOURS) return INT64_MAX;
        int64_t gap_ns = (int64_t)((double)hour_ns * (double)weights /
                                   ((double)requests * (double)hour_weight((int)hour)));
        int64_t next = at + rng_exponential_ns(r, gap_ns);
        if (next < (hour + 1) * hour_ns) return next;
        at = (hour + 1) * hour_ns;
    }
}

/* Lengths with the means of the Azure conversation trace (1,155 and 211 tokens) and a long tail. */
static int32_t draw_length(struct rng *r, int64_t mean, int32_t most) {
    int64_t n = 1 + rng_exponential_ns(r, mean - 1);
    return n < most ? (int32_t)n : most;
}

static int week(int64_t requests, const char *policy, const char *router) {
    struct err e;
    const char *arg;
    struct sim_config c;
    struct windows windows = {.start_s = cpu_s()};
    if (decoder_config(&c, policy, &arg, &e)) return fail(&e);
    c.each = into_window;
    c.ctx = &windows;
    struct fleet *f = fleet_create(&c, arg, SERVERS, router, 1, &e);
    if (!f) return fail(&e);
    struct rng rng;
    rng_seed(&rng, 2024);
    int64_t weights = 0, at = 0, id = 0;
    for (int hour = 0; hour < HOURS; hour++) weights += hour_weight(hour);
    while ((at = next_arrival(&rng, at, requests, weights)) != INT64_MAX) {
        struct sim_request r = {.id = id++,
                                .arrival_ns = at,
                                .prompt_tokens = draw_length(&rng, 1155, 8192),
                                .output_tokens = draw_length(&rng, 211, 2048),
                                .max_output_tokens = 2048};
        if (fleet_run_until(f, at, &e) || fleet_push(f, &r, &e)) return fail(&e);
    }
    if (fleet_finish(f, &e)) return fail(&e);
    print_window(&windows);
    char name[64];
    snprintf(name, sizeof name, "week, %s, %s", policy, router);
    print_counters(name, f, cpu_s() - windows.start_s);
    fleet_free(f);
    return 0;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "", *first = argc > 2 ? argv[2] : NULL;
    if (!strcmp(what, "mm1")) return mm1(first ? atoll(first) : 10000000);
    if (!strcmp(what, "azure") && first) return azure(first, argc > 3 ? argv[3] : "chunked");
    if (!strcmp(what, "week"))
        return week(first ? atoll(first) : 44000000, argc > 3 ? argv[3] : "chunked",
                    argc > 4 ? argv[4] : "least-outstanding");
    fprintf(stderr, "usage: bench_sim mm1 [REQUESTS] | azure TRACE [POLICY] | week [REQUESTS "
                    "[POLICY [ROUTER]]]\n");
    return 2;
}
