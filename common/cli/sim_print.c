/* sim_print.c: prints a run as text. See sim_print.h. */
#include "cli/sim_print.h"

#include "base/clock.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOW_UP_TO = 20 }; /* requests; a longer table only with --per-request */

static double ms(double ns) {
    return ns / (double)NS_PER_MS;
}

const char *ms_text(double ns, char *buf, size_t cap) {
    double v = ms(ns);
    int decimals = 6; /* a nanosecond */
    for (double most = 1; decimals > 0 && fabs(v) >= most; most *= 10) decimals--;
    snprintf(buf, cap, "%.*f", decimals, v);
    char *end = buf + strlen(buf);
    if (strchr(buf, '.'))
        while (end[-1] == '0') *--end = 0;
    if (end[-1] == '.') end[-1] = 0;
    return buf;
}

int rate_decimals(double per_s) {
    return per_s > 0 && per_s < 1 ? (int)fmin(2 - floor(log10(per_s)), 12) : 2;
}

const char *percentile_text(const struct percentile *p, int decimals, char *buf, size_t cap) {
    char few = p->few ? '*' : ' ';
    if (!p->present)
        snprintf(buf, cap, "absent ");
    else if (p->infinite)
        snprintf(buf, cap, "infinite%c", few);
    else
        snprintf(buf, cap, "%.*f%c", decimals, ms((double)p->ns), few);
    return buf;
}

/* The decimals of milliseconds that a column needs, `decimals` so far, when ns is added to it: none
 * for whole milliseconds, else 3, and 6 below a microsecond. */
static int decimals_for(int decimals, int64_t ns) {
    int needs = ns <= 0 || ns % NS_PER_MS == 0 ? 0 : ns < NS_PER_MS / 1000 ? 6 : 3;
    return needs > decimals ? needs : decimals;
}

/* In ms, as in the tables worked by hand; from 100 s on in s. */
static const char *span_text(int64_t ns, char *buf, size_t cap) {
    if (ns < 100 * NS_PER_S)
        snprintf(buf, cap, "%g ms", ms((double)ns));
    else
        snprintf(buf, cap, "%.1f s", (double)ns / (double)NS_PER_S);
    return buf;
}

/* ---- the table of requests ---- */

static void cell(int64_t ns, int64_t minus, int decimals) {
    if (ns < 0)
        printf(" %14s", "-");
    else
        printf(" %14.*f", decimals, ms((double)(ns - minus)));
}

static int decimals_of(const struct run *r) {
    int decimals = 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct point_request *p = &r->list[i];
        decimals = decimals_for(decimals, p->arrival_ns);
        decimals = decimals_for(decimals, p->admitted_ns);
        decimals = decimals_for(decimals, p->end_ns);
    }
    return decimals;
}

int named_limits(const struct point_limits *l, struct named_limit out[SIM_LIMITS]) {
    const struct named_limit all[SIM_LIMITS] = {{"p99 TTFT", l->ttft_below_ns},
                                                {"p99 TPOT", l->tpot_below_ns},
                                                {"p99 end to end", l->e2e_below_ns}};
    int n = 0;
    for (int i = 0; i < SIM_LIMITS; i++)
        if (all[i].below_ns < INT64_MAX) out[n++] = all[i];
    return n;
}

const char *class_name(enum point_class c) {
    static const char *const names[] = {[POINT_COMPLETE] = "complete",
                                        [POINT_SHED] = "shed",
                                        [POINT_TRUNCATED] = "truncated",
                                        [POINT_BROKEN] = "broken"};
    return names[c];
}

const char *region_name(enum curve_region r) {
    static const char *const names[] = {[REGION_UNDERLOADED] = "underloaded",
                                        [REGION_KNEE] = "knee",
                                        [REGION_OVERLOADED] = "overloaded"};
    return names[r];
}

enum slo_answer sim_dollars(const struct sim_flags *f, const struct operating_point *p,
                            double window_s, double *value, char *reason, size_t cap) {
    struct objective o = {.resource = {.primary = "usd",
                                       .accelerators = (double)f->servers,
                                       .usd_per_accelerator_hour = f->usd_per_gpu_hour,
                                       .reserve_fraction = f->reserve_fraction}};
    struct slo_counts c = {.requests = p->requests, .useful = p->complete, .interval_s = window_s};
    return slo_objective_value(&o, &c, value, reason, cap);
}

static void print_requests(const struct run *r) {
    int decimals = decimals_of(r);
    printf("%10s %14s %14s %14s %14s %14s\n", "request", "arrival ms", "wait ms", "start ms",
           "completion ms", "latency ms");
    for (size_t i = 0; i < r->n; i++) {
        const struct point_request *p = &r->list[i];
        enum point_class class = point_classify(p);
        bool done = p->end == POINT_DONE;
        printf("%10zu", i);
        cell(p->arrival_ns, 0, decimals);
        cell(p->admitted_ns, p->arrival_ns, decimals);
        cell(p->admitted_ns, 0, decimals);
        cell(done ? p->end_ns : -1, 0, decimals);
        cell(done ? p->end_ns : -1, p->arrival_ns, decimals);
        printf("%s%s\n", class == POINT_COMPLETE ? "" : "  ",
               class == POINT_COMPLETE ? "" : class_name(class));
    }
    printf("\n");
}

/* ---- the sections ---- */

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

static void rate_line(const char *label, double per_s, const char *what) {
    line(label, per_s, rate_decimals(per_s), what);
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
    if (!r->m->has_rates || p->requests < POINT_SAMPLES) return; /* too few requests for a rate */
    rate_line("offered", p->offered_rps, "requests/s, over that time");
    printf("  %-18s %12s   %s\n", "queue", p->stable ? "stable" : "growing",
           p->stable ? "ends keep up with arrivals over the second half"
                     : "over the second half more arrives than ends: figures depend on when it "
                       "stops");
}

struct interval_line {
    const char *label;
    struct percentile p50, p99;
    const char *formula;
};

static void print_interval_lines(const struct interval_line *lines, size_t n) {
    bool few = false;
    int decimals = 0;
    for (size_t i = 0; i < n; i++)
        decimals = decimals_for(decimals_for(decimals, lines[i].p50.ns), lines[i].p99.ns);
    for (size_t i = 0; i < n; i++) {
        const struct interval_line *l = &lines[i];
        char a[32], b[32];
        printf("  %-12s %13s %13s  %s\n", l->label, percentile_text(&l->p50, decimals, a, sizeof a),
               percentile_text(&l->p99, decimals, b, sizeof b), l->formula);
        few |= (l->p50.present && l->p50.few) || (l->p99.present && l->p99.few);
    }
    if (few) printf("  * too few observations for that percentile: it is the largest of them\n");
}

static void print_latency(const struct run_report *r) {
    const struct operating_point *p = &r->m->point;
    struct percentile itl_p50 = {0}, itl_p99 = {0};
    if (r->recorder) {
        itl_p50 = recorder_itl(r->recorder, r->m->from_ns, 50000);
        itl_p99 = recorder_itl(r->recorder, r->m->from_ns, 99000);
    }
    const struct interval_line lines[] = {
        {"queue delay", r->m->queue_delay_p50, p->queue_delay_p99, "admitted - arrival"},
        {"TTFT", p->ttft_p50, p->ttft_p99, "first token - arrival"},
        {"TPOT", p->tpot_p50, p->tpot_p99, "(last - first token) / (output tokens - 1), a request"},
        {"ITL", itl_p50, itl_p99,
         r->recorder ? "token - token before, all of them pooled"
                     : "not recorded in a run of so many requests; --records does"},
        {"end to end", p->e2e_p50, p->e2e_p99, "last token - arrival"},
    };
    heading("Latency, ms",
            "nearest rank; complete requests; each other request of the %lld counts as "
            "infinite",
            (long long)p->requests);
    printf("  %-12s %12s  %12s\n", "", "p50", "p99");
    print_interval_lines(lines, sizeof lines / sizeof *lines);
}

static void print_rates(const struct run_report *r) {
    const struct run_measures *m = r->m;
    char span[32];
    heading("Rates", "over %s, from the first arrival to the last completion",
            span_text(m->interval_ns, span, sizeof span));
    rate_line("QPS", m->throughput_rps, "complete requests/s: the throughput");
    rate_line("TPS", m->output_tps, "output tokens/s of the requests that were done");
    rate_line("", m->total_tps, "the same with their prompts' tokens");
    rate_line("IPS", m->ips, "forward passes/s, all servers; a batch of 8 is one");
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
    char text[40];
    struct named_limit all[SIM_LIMITS];
    int n = named_limits(l, all);
    if (n == 0) return;
    heading("Limits", "%s", r->setup->default_limits ? SIM_DEFAULT_LIMITS : "as given; strict");
    for (int i = 0; i < n; i++)
        printf("  %-18s %12s   ms: below that\n", all[i].name,
               ms_text((double)all[i].below_ns, text, sizeof text));
    printf("  %-18s %12s   %s\n", "verdict", slo_answer_name(point_verdict(p, l)),
           "all of them, and a stable queue");
    line("attainment", p->requests ? 100.0 * (double)p->good / (double)p->requests : NAN, 1,
         "% of all requests complete and each within the limits itself");
    if (r->m->has_rates) rate_line("good rate", p->good_rps, "such requests/s");
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
    char wait[40];
    if (r->m->point.complete > 0)
        printf("mean latency %s ms, mean wait %s ms (n %lld)\n",
               ms_text(r->m->point.mean_latency_ns, text, sizeof text),
               ms_text(r->m->mean_wait_ns, wait, sizeof wait), (long long)r->m->point.complete);
    else
        printf("mean latency -, mean wait - (no request was complete)\n");
    double rps = r->m->throughput_rps;
    if (isnan(rps))
        printf("throughput - (no time passes from the first arrival to the last completion)\n");
    else
        printf(
            "throughput %.*f requests/s over %s, from the first arrival to the last completion\n",
            rate_decimals(rps), rps, span_text(r->m->interval_ns, text, sizeof text));
    print_population(r);
    print_latency(r);
    print_rates(r);
    print_server(r);
    print_limits(r);
    print_dollars(r);
}
