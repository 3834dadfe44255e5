/* sim_sweep_print.c: prints a sweep as tables and as JSON. See sim_print.h. */
#include "base/clock.h"
#include "base/json.h"
#include "cli/sim_print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SWEEP_SCHEMA "servelab.sweep.v1"

/* The figures of one policy at its highest load within the limits. NaN: there are none. */
struct goodput {
    double rps;      /* highest load within the limits on the percentiles */
    double per_gpu;  /* the same a GPU */
    double good_rps; /* good requests/s at that load */
    double attainment;
    double per_usd; /* complete responses, at that load */
    char why[300];  /* why per_usd is not computable */
};

static struct goodput goodput_of(const struct sweep_report *r, const struct sweep_policy *p) {
    struct goodput g = {NAN, NAN, NAN, NAN, NAN, ""};
    const struct operating_point *at = &p->capacity.at;
    if (!p->has_capacity || !p->capacity.found) {
        snprintf(g.why, sizeof g.why, "%s",
                 p->has_capacity ? "no load was within the limits" : "no load was searched for");
        return g;
    }
    g.rps = p->capacity.rps;
    g.per_gpu = g.rps / r->setup->run.servers; /* a server is one GPU here */
    g.good_rps = at->good_rps;
    g.attainment = (double)at->good / (double)at->requests;
    if (sim_dollars(r->flags, at, (double)at->requests / at->offered_rps, &g.per_usd, g.why,
                    sizeof g.why) != SLO_MET)
        g.per_usd = NAN;
    return g;
}

/* Index of the point with the most good requests/s; n: there are no points. */
static size_t most_good(const struct sweep_policy *p) {
    size_t best = p->n;
    for (size_t k = 0; k < p->n; k++)
        if (best == p->n || p->points[k].point.good_rps > p->points[best].point.good_rps) best = k;
    return best;
}

/* ---- text ---- */

static void cell(double v, int width, int decimals) {
    if (isfinite(v))
        printf(" %*.*f", width, decimals, v);
    else
        printf(" %*s", width, "-");
}

static void print_point(const struct sweep_policy *p, const struct operating_point *points,
                        size_t k) {
    const struct operating_point *o = &points[k];
    char ttft[32], tpot[32];
    double share = o->requests ? 100.0 / (double)o->requests : NAN;
    int decimals = rate_decimals(points[0].offered_rps); /* for the lowest load */
    cell(o->offered_rps, 9, decimals);
    cell(o->throughput_rps, 10, decimals);
    cell(o->mean_latency_ns / NS_PER_S, 11, 3);
    printf(" %12s %11s", percentile_text(&o->ttft_p99, 2, ttft, sizeof ttft),
           percentile_text(&o->tpot_p99, 2, tpot, sizeof tpot));
    cell(p->points[k].mean_batch, 7, 1);
    cell(p->points[k].kv_peak_share * 100, 6, 0);
    cell((double)(o->requests - o->complete) * share, 6, 1);
    cell((double)o->good * share, 6, 1);
    printf("  %-8s %s%s%s\n", o->stable ? "stable" : "growing",
           region_name(curve_region(points, p->n, k)), k == p->knee ? "  <- the knee" : "",
           k == p->saturation ? "  <- saturation" : "");
}

static void print_table(const struct sweep_policy *p) {
    struct operating_point *points = sweep_points(p);
    printf("\n%s%s%s\n", cli_bold(), p->name, cli_reset());
    printf(" %9s %10s %11s %11s  %11s %6s %6s %6s %6s  %-8s %s\n", "offered/s", "complete/s",
           "mean e2e s", "p99 TTFT ms", "p99 TPOT ms", "batch", "KV %", "lost %", "good %", "queue",
           "region");
    for (size_t k = 0; k < p->n; k++) print_point(p, points, k);
    free(points);
}

enum row {
    KNEE,
    KNEE_LATENCY,
    SATURATION,
    HIGHEST,
    PER_GPU,
    CAME,
    GOOD_RPS,
    ATTAINMENT,
    MOST_GOOD,
    PER_USD,
    N_ROWS
};

static double row_value(const struct sweep_report *r, const struct sweep_policy *p, enum row row) {
    struct goodput g = goodput_of(r, p);
    bool knee = p->knee < p->n;
    switch (row) {
    case KNEE:
        return knee ? p->points[p->knee].point.offered_rps : NAN;
    case KNEE_LATENCY:
        return knee ? p->points[p->knee].point.mean_latency_ns / NS_PER_S : NAN;
    case SATURATION:
        return p->saturation < p->n ? p->points[p->saturation].point.throughput_rps : NAN;
    case HIGHEST:
        return g.rps;
    case PER_GPU:
        return g.per_gpu;
    case CAME:
        return isnan(g.rps) ? NAN : p->capacity.at.offered_rps;
    case GOOD_RPS:
        return g.good_rps;
    case ATTAINMENT:
        return g.attainment * 100;
    case MOST_GOOD:
        return p->n ? p->points[most_good(p)].point.good_rps : NAN;
    default:
        return g.per_usd;
    }
}

static void print_row(const struct sweep_report *r, const char *label, enum row row) {
    printf("  %-44s", label);
    for (size_t i = 0; i < r->sweep->n_policies; i++) {
        double v = row_value(r, &r->sweep->policies[i], row);
        if (isfinite(v))
            printf(v < 10000 ? " %16.4g" : " %16.0f", v);
        else
            printf(" %16s", "-");
    }
    printf("\n");
}

static void print_limits(const struct sweep_report *r) {
    struct named_limit all[SIM_LIMITS];
    char text[40];
    int n = named_limits(&r->setup->run.limits, all);
    printf("  limits: ");
    for (int i = 0; i < n; i++)
        printf("%s%s below %s ms", i ? ", " : "", all[i].name,
               ms_text((double)all[i].below_ns, text, sizeof text));
    printf(", a stable queue%s%s\n", r->setup->default_limits ? "; " : "",
           r->setup->default_limits ? SIM_DEFAULT_LIMITS : "");
}

/* How many mean latencies the arrivals last. The first few, while the server fills up, are in every
 * figure. */
enum { STEADY = 20 };
static double lasts(const struct operating_point *o) {
    return (double)o->requests / o->offered_rps * (double)NS_PER_S / o->mean_latency_ns;
}

static void print_notes(const struct sweep_report *r) {
    const struct sweep *s = r->sweep;
    for (size_t i = 0; i < s->n_policies; i++) {
        const struct sweep_policy *p = &s->policies[i];
        if (p->has_capacity && p->capacity.at_top)
            printf("  %s: the highest load tried was still within the limits; the true answer may "
                   "be higher\n",
                   p->name);
        if (p->has_capacity && !p->capacity.found)
            printf("  %s: not even %.3g requests/s were within the limits\n", p->name,
                   p->capacity.at.offered_rps);
        double times = p->has_capacity && p->capacity.found ? lasts(&p->capacity.at) : INFINITY;
        if (times < STEADY)
            printf(
                "  %s: at the highest load within the limits requests arrive for only %.2g times "
                "as long as one takes;\n    give more --requests for a steadier answer\n",
                p->name, times);
        for (size_t k = 0; k < p->n; k++) {
            const struct operating_point *o = &p->points[k].point;
            if (!o->stable || o->throughput_rps > 0.9 * o->offered_rps) continue;
            printf("  %s: at %.3g requests/s it completes %.3g while requests arrive, yet over the "
                   "second half its queue doesn't\n    grow: the run is short for this load "
                   "(--requests), or lighter in its second half\n",
                   p->name, o->offered_rps, o->throughput_rps);
        }
        if (p->n && p->saturation == p->n - 1)
            printf("  %s: the highest load was still served; saturation may lie higher\n", p->name);
        struct goodput g = goodput_of(r, p);
        if (r->flags->usd_per_gpu_hour && isnan(g.per_usd))
            printf("  %s: responses per dollar: not computable: %s\n", p->name, g.why);
    }
}

static void print_summary(const struct sweep_report *r) {
    const struct sweep *s = r->sweep;
    printf("\n%s%-46s%s", cli_bold(), "Side by side", cli_reset());
    for (size_t i = 0; i < s->n_policies; i++) printf(" %16.16s", s->policies[i].name);
    printf("\n");
    print_row(r, "knee: offered, requests/s", KNEE);
    print_row(r, "knee: mean end-to-end latency, s", KNEE_LATENCY);
    print_row(r, "saturation: complete requests/s", SATURATION);
    if (run_has_limits(&r->setup->run.limits)) {
        print_row(r, "highest load within the limits, requests/s", HIGHEST);
        print_row(r, "  the same per GPU", PER_GPU);
        print_row(r, "at that load: requests/s that came", CAME);
        print_row(r, "  good requests/s", GOOD_RPS);
        print_row(r, "  % of all requests that are good", ATTAINMENT);
        if (r->flags->usd_per_gpu_hour) print_row(r, "  complete responses per dollar", PER_USD);
        print_limits(r);
        printf("  the highest load is found to %g %%; good: complete, and within each limit by "
               "itself\n",
               SWEEP_RESOLUTION * 100);
    } else {
        printf("  goodput: not computable without limits; give --ttft-below-ms and "
               "--tpot-below-ms\n");
    }
    print_notes(r);
}

void print_sweep_text(const struct sweep_report *r) {
    char text[400];
    printf("%s\n", sim_workload_text(r->flags, r->setup, text, sizeof text));
    printf("%s\n", sim_machine_text(r->flags, r->setup, text, sizeof text));
    if (!r->sweep->complete) printf("INTERRUPTED: not all points were measured\n");
    for (size_t i = 0; i < r->sweep->n_policies; i++) print_table(&r->sweep->policies[i]);
    printf(
        "\n /s: requests a second; counted is what arrives from the first arrival%s to the last, "
        "whenever it ends;\n complete/s, the throughput: complete ones that end in that time; "
        "batch: sequences in a forward pass\n over busy time; KV %%: most blocks taken; lost: "
        "shed, truncated or "
        "broken; *: too few for a p99\n",
        r->setup->run.warm_up_ns ? " after the warm-up" : "");
    print_sweep_plot(r->sweep);
    print_summary(r);
}

/* ---- JSON ---- */

static void json_sweep_point(cJSON *list, const struct sweep_report *r,
                             const struct sweep_policy *p, const struct operating_point *points,
                             size_t k) {
    const struct sweep_point *q = &p->points[k];
    cJSON *o = cJSON_CreateObject();
    json_real(o, "rate_rps", q->rate_rps);
    json_point(o, &q->point, &r->setup->run.limits);
    cJSON_AddStringToObject(o, "region", region_name(curve_region(points, p->n, k)));
    json_real(o, "window_s", q->window_s);
    json_real(o, "output_tps", q->output_tps);
    json_real(o, "ips", q->ips);
    json_real(o, "busy_share", q->busy_share);
    json_real(o, "mean_batch", q->mean_batch);
    json_real(o, "kv_peak_share", q->kv_peak_share);
    json_real(o, "kv_mean_share", q->kv_mean_share);
    json_add_int(o, "preemptions", q->preemptions);
    cJSON_AddItemToArray(list, o);
}

/* A point of the curve. */
static void json_place(cJSON *o, const char *key, const struct sweep_policy *p, size_t at) {
    if (at >= p->n) {
        cJSON_AddNullToObject(o, key);
        return;
    }
    cJSON *q = cJSON_AddObjectToObject(o, key);
    json_add_int(q, "index", (int64_t)at);
    json_real(q, "offered_rps", p->points[at].point.offered_rps);
    json_real(q, "throughput_rps", p->points[at].point.throughput_rps);
    json_real(q, "mean_latency_ns", p->points[at].point.mean_latency_ns);
}

static void json_goodput(cJSON *o, const struct sweep_report *r, const struct sweep_policy *p) {
    if (!p->has_capacity) {
        cJSON_AddNullToObject(o, "highest_within_limits");
        return;
    }
    json_place(o, "most_good", p, most_good(p));
    json_real(cJSON_GetObjectItem(o, "most_good"), "good_rps",
              p->points[most_good(p)].point.good_rps);
    struct goodput g = goodput_of(r, p);
    cJSON *q = cJSON_AddObjectToObject(o, "highest_within_limits");
    cJSON_AddBoolToObject(q, "found", p->capacity.found);
    cJSON_AddBoolToObject(q, "at_top", p->capacity.at_top);
    cJSON_AddNumberToObject(q, "resolution", SWEEP_RESOLUTION);
    json_add_int(q, "probes", p->capacity.probes);
    json_real(q, "rate_rps", g.rps);
    json_real(q, "rate_per_gpu_rps", g.per_gpu);
    json_real(q, "good_rps", g.good_rps);
    json_real(q, "good_per_gpu_rps", g.good_rps / r->setup->run.servers);
    json_real(q, "attainment", g.attainment);
    if (r->flags->usd_per_gpu_hour) {
        json_real(q, "complete_responses_per_usd", g.per_usd);
        if (isnan(g.per_usd)) cJSON_AddStringToObject(q, "not_computable", g.why);
    }
    json_real(q, "arrivals_last_mean_latencies", p->capacity.found ? lasts(&p->capacity.at) : NAN);
    json_point(cJSON_AddObjectToObject(q, "at"), &p->capacity.at, &r->setup->run.limits);
}

static void json_policy(cJSON *list, const struct sweep_report *r, const struct sweep_policy *p) {
    cJSON *o = cJSON_CreateObject();
    struct operating_point *points = sweep_points(p);
    cJSON_AddStringToObject(o, "policy", p->name);
    json_real(o, "guessed_saturation_rps", p->guess_rps > 0 ? p->guess_rps : NAN);
    json_place(o, "knee", p, p->knee);
    json_place(o, "saturation", p, p->saturation);
    json_goodput(o, r, p);
    cJSON *all = cJSON_AddArrayToObject(o, "points");
    for (size_t k = 0; k < p->n; k++) json_sweep_point(all, r, p, points, k);
    free(points);
    cJSON_AddItemToArray(list, o);
}

cJSON *sweep_json(const struct sweep_report *r) {
    char text[400];
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "schema", SWEEP_SCHEMA);
    cJSON_AddBoolToObject(o, "complete", r->sweep->complete);
    cJSON_AddStringToObject(o, "workload",
                            sim_workload_text(r->flags, r->setup, text, sizeof text));
    cJSON_AddStringToObject(o, "machine", sim_machine_text(r->flags, r->setup, text, sizeof text));
    cJSON_AddNumberToObject(o, "gpus", r->setup->run.servers);
    json_facts(o, &r->setup->facts);
    json_limits(o, r->setup);
    if (r->flags->usd_per_gpu_hour) {
        cJSON_AddNumberToObject(o, "usd_per_gpu_hour", r->flags->usd_per_gpu_hour);
        cJSON_AddNumberToObject(o, "reserve_fraction", r->flags->reserve_fraction);
    }
    cJSON *list = cJSON_AddArrayToObject(o, "policies");
    for (size_t i = 0; i < r->sweep->n_policies; i++) json_policy(list, r, &r->sweep->policies[i]);
    return o;
}
