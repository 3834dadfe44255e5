/* sim_print.c: a run as text. See sim_print.h. */
#include "cli/sim_print.h"

#include "base/clock.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOW_UP_TO = 20 }; /* requests; beyond, a table is no reading matter */

static double ms(double ns) {
    return ns / (double)NS_PER_MS;
}

const char *percentile_text(const struct percentile *p, char *buf, size_t cap) {
    const char *few = p->few ? "*" : "";
    if (!p->present)
        snprintf(buf, cap, "absent");
    else if (p->infinite)
        snprintf(buf, cap, "infinite%s", few);
    else
        snprintf(buf, cap, "%.6g%s", ms((double)p->ns), few);
    return buf;
}

/* Short runs in ms, as the hand-worked tables have them; an hour in s. */
static const char *span_text(int64_t ns, char *buf, size_t cap) {
    if (ns < 100 * NS_PER_S)
        snprintf(buf, cap, "%g ms", ms((double)ns));
    else
        snprintf(buf, cap, "%.6g s", (double)ns / (double)NS_PER_S);
    return buf;
}

/* ---- one line a request ---- */

static void cell(int64_t ns, int64_t minus) {
    if (ns < 0)
        printf(" %12s", "-");
    else
        printf(" %12g", ms((double)(ns - minus)));
}

static const char *class_name(enum point_class c) {
    static const char *const names[] = {[POINT_COMPLETE] = "complete",
                                        [POINT_SHED] = "shed",
                                        [POINT_TRUNCATED] = "truncated",
                                        [POINT_BROKEN] = "broken"};
    return names[c];
}

static void print_requests(const struct run *r) {
    printf("%10s %12s %12s %12s %13s %12s\n", "request", "arrival ms", "wait ms", "start ms",
           "completion ms", "latency ms");
    for (size_t i = 0; i < r->n; i++) {
        const struct point_request *p = &r->list[i];
        enum point_class class = point_classify(p);
        bool done = p->end == POINT_DONE;
        printf("%10zu", i);
        cell(p->arrival_ns, 0);
        cell(p->admitted_ns, p->arrival_ns);
        cell(p->admitted_ns, 0);
        printf(" ");
        cell(done ? p->end_ns : -1, 0);
        cell(done ? p->end_ns : -1, p->arrival_ns);
        printf("%s%s\n", class == POINT_COMPLETE ? "" : "  ",
               class == POINT_COMPLETE ? "" : class_name(class));
    }
    printf("\n");
}

/* ---- groups ---- */

static void heading(const char *name, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void heading(const char *name, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    printf("\n%s%s%s  ", cli_bold(), name, cli_reset());
    vprintf(fmt, ap);
    printf("\n");
    va_end(ap);
}

static void line(const char *label, double v, int decimals, const char *what) {
    if (isnan(v))
        printf("  %-18s %12s   %s\n", label, "-", what);
    else
        printf("  %-18s %12.*f   %s\n", label, decimals, v, what);
}

static void count(const char *label, int64_t n, const char *what) {
    printf("  %-18s %12lld   %s\n", label, (long long)n, what);
}

static void print_population(const struct run_report *r) {
    const struct operating_point *p = &r->m->point;
    const struct run *run = r->run;
    heading("Requests", "that arrived from %g to %g s: %lld of %zu%s",
            (double)r->m->from_ns / NS_PER_S, (double)(r->m->to_ns - 1) / NS_PER_S,
            (long long)p->requests, run->n,
            r->setup->run.warm_up_ns ? " (the others came during the warm-up)" : "");
    count("complete", p->complete, "all the tokens they wanted");
    char shed[120] = "refused";
    if (run->by_policy + run->too_large + run->queue_full)
        snprintf(shed, sizeof shed,
                 "refused (whole run: %lld by the policy, %lld too large for the cache, %lld "
                 "because the queue was full)",
                 (long long)run->by_policy, (long long)run->too_large, (long long)run->queue_full);
    count("shed", p->shed, shed);
    count("truncated", p->truncated, "cut short by --max-output-tokens");
    count("broken", p->broken, "the server broke on the way");
    if (!r->m->has_rates || p->requests < POINT_SAMPLES) return; /* too few for a rate */
    line("offered", p->offered_rps, 2, "requests/s, over that time");
    printf("  %-18s %12s   %s\n", "queue", p->stable ? "stable" : "growing",
           p->stable ? "ends keep up with arrivals over the second half"
                     : "over the second half more arrives than ends: figures depend on when it "
                       "stops");
}

static bool interval_line(const char *label, const struct percentile *p50,
                          const struct percentile *p99, const char *formula) {
    char a[32], b[32];
    printf("  %-12s %12s %12s   %s\n", label, percentile_text(p50, a, sizeof a),
           percentile_text(p99, b, sizeof b), formula);
    return (p50->present && p50->few) || (p99->present && p99->few);
}

static void print_latency(const struct run_report *r) {
    const struct operating_point *p = &r->m->point;
    bool few = false;
    heading("Latency, ms",
            "nearest rank; complete requests, every other of the %lld counts as "
            "infinite",
            (long long)p->requests);
    printf("  %-12s %12s %12s\n", "", "p50", "p99");
    few |= interval_line("queue delay", &r->m->queue_delay_p50, &p->queue_delay_p99,
                         "admitted - arrival");
    few |= interval_line("TTFT", &p->ttft_p50, &p->ttft_p99, "first token - arrival");
    few |= interval_line("TPOT", &p->tpot_p50, &p->tpot_p99,
                         "(last - first token) / (output tokens - 1), a request");
    if (r->recorder) {
        struct percentile p50 = recorder_itl(r->recorder, r->m->from_ns, 50000);
        struct percentile p99 = recorder_itl(r->recorder, r->m->from_ns, 99000);
        few |= interval_line("ITL", &p50, &p99, "token - token before, all of them pooled");
    } else {
        printf("  ITL          not watched in a run of so many requests; --records watches\n");
    }
    few |= interval_line("end to end", &p->e2e_p50, &p->e2e_p99, "last token - arrival");
    if (few) printf("  * too few observations for that percentile: it is simply the largest\n");
}

static void print_rates(const struct run_report *r) {
    const struct run_measures *m = r->m;
    char span[32];
    heading("Rates", "over %s, from the first arrival to the last completion",
            span_text(m->interval_ns, span, sizeof span));
    line("QPS", m->throughput_rps, 2, "complete requests/s: the throughput");
    line("TPS", m->output_tps, 2, "output tokens/s of the requests that were done");
    line("", m->total_tps, 2, "the same with their prompts' tokens");
    line("IPS", m->ips, 2, "forward passes/s, all servers; a batch of 8 is one");
}

static void print_server(const struct run_report *r) {
    const struct run_measures *m = r->m;
    const struct sim_counters *c = &r->run->counters;
    bool cache = r->setup->run.kv_blocks < 1 << 28;
    heading(r->setup->run.servers > 1 ? "Servers" : "Server", "from first arrival to last end");
    line("busy", m->busy_share * 100, 1, "% of the time in a forward pass");
    line("batch", m->mean_batch, 2, "sequences in a forward pass, averaged over busy time");
    if (cache) {
        line("KV cache, mean", m->kv_mean_share * 100, 1, "% of the blocks taken, over time");
        line("KV cache, peak", m->kv_peak_share * 100, 1, "% at most, on one server");
    }
    count("preemptions", c->preemptions, "sequences that lost their place and were recomputed");
    if (c->cached_tokens > 0)
        count("prefix reuse", c->cached_tokens, "prompt tokens found instead of computed");
    count("policy calls", c->policy_calls, "decisions; a plan that stays valid is repeated");
    printf("  Little's law holds: L %.6g in the system = lambda %.6g/s x W %.6g s\n", m->little_l,
           m->little_lambda_rps, m->little_w_ns / (double)NS_PER_S);
}

static void print_limits(const struct run_report *r) {
    const struct point_limits *l = &r->setup->run.limits;
    const struct operating_point *p = &r->m->point;
    if (l->ttft_below_ns == INT64_MAX && l->tpot_below_ns == INT64_MAX &&
        l->e2e_below_ns == INT64_MAX)
        return;
    heading("Limits", "%s", r->setup->default_limits ? SIM_DEFAULT_LIMITS : "as given; strict");
    const struct {
        const char *name;
        int64_t below_ns;
    } all[] = {{"p99 TTFT", l->ttft_below_ns},
               {"p99 TPOT", l->tpot_below_ns},
               {"p99 end to end", l->e2e_below_ns}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].below_ns < INT64_MAX)
            line(all[i].name, ms((double)all[i].below_ns), 0, "ms: below that");
    printf("  %-18s %12s   %s\n", "verdict", slo_answer_name(point_verdict(p, l)),
           "all of them, and a stable queue");
    line("attainment", p->requests ? 100.0 * (double)p->good / (double)p->requests : NAN, 1,
         "% of all requests complete and each within the limits itself");
    if (r->m->has_rates) line("good rate", p->good_rps, 2, "such requests/s");
}

static void print_dollars(const struct run_report *r) {
    if (!r->flags->usd_per_gpu_hour) return;
    double value;
    char why[300];
    double window_s = r->m->has_rates ? (double)(r->m->to_ns - r->m->from_ns) / NS_PER_S : 0;
    double used = r->setup->run.servers, reserve = r->flags->reserve_fraction;
    heading("Dollars", "%g GPUs used / (1 - %g reserve) = %g provisioned, at %g $ an hour each",
            used, reserve, used / (1 - reserve), r->flags->usd_per_gpu_hour);
    if (sim_dollars(r->flags, &r->m->point, window_s, &value, why, sizeof why) == SLO_MET)
        line("per dollar", value, 1,
             "complete responses (a simulator has no answers whose quality could be judged)");
    else
        printf("  complete responses per dollar: not computable: %s\n", why);
}

void print_run_text(const struct run_report *r) {
    char text[400];
    printf("policy %s, %s\n", r->flags->policy,
           sim_machine_text(r->flags, r->setup, text, sizeof text));
    printf("%s\n", sim_workload_text(r->flags, r->setup, text, sizeof text));
    printf("\n");
    if (r->flags->per_request || r->run->n <= SHOW_UP_TO) print_requests(r->run);
    printf("mean latency %g ms, mean wait %g ms (n %lld)\n", ms(r->m->point.mean_latency_ns),
           ms(r->m->mean_wait_ns), (long long)r->m->point.complete);
    printf("throughput %.2f requests/s over %s, from the first arrival to the last completion\n",
           r->m->throughput_rps, span_text(r->m->interval_ns, text, sizeof text));
    print_population(r);
    print_latency(r);
    print_rates(r);
    print_server(r);
    print_limits(r);
    print_dollars(r);
}
