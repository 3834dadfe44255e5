/* sim_json.c: prints runs and operating points as JSON. See sim_print.h. */
#include "base/clock.h"
#include "base/json.h"
#include "cli/sim_print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The shortest text that reads back as the same number; cJSON's own may differ in the last bit. */
void json_real(cJSON *o, const char *key, double v) {
    char text[40];
    if (!isfinite(v)) {
        cJSON_AddNullToObject(o, key);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v) break;
    }
    cJSON_AddRawToObject(o, key, text);
}

/* -1 means absent, as everywhere in the simulator. */
static void json_ns(cJSON *o, const char *key, int64_t ns) {
    if (ns >= 0)
        json_add_int(o, key, ns);
    else
        cJSON_AddNullToObject(o, key);
}

cJSON *json_percentile(cJSON *o, const char *key, const struct percentile *p) {
    cJSON *q = cJSON_AddObjectToObject(o, key);
    json_ns(q, "ns", p->present && !p->infinite ? p->ns : -1);
    cJSON_AddBoolToObject(q, "infinite", p->infinite);
    json_add_int(q, "n", (int64_t)p->n);
    json_add_int(q, "failed", (int64_t)p->failed);
    cJSON_AddBoolToObject(q, "few", p->few);
    return q;
}

void json_dump(const cJSON *tree, FILE *out) {
    char *text = cJSON_Print(tree);
    INVARIANT(text);
    fputs(text, out);
    fputc('\n', out);
    cJSON_free(text);
}

void json_point(cJSON *o, const struct operating_point *p, const struct point_limits *limits) {
    json_real(o, "offered_rps", p->offered_rps);
    json_add_int(o, "requests", p->requests);
    json_add_int(o, "complete", p->complete);
    json_add_int(o, "shed", p->shed);
    json_add_int(o, "truncated", p->truncated);
    json_add_int(o, "broken", p->broken);
    json_add_int(o, "good", p->good);
    json_real(o, "throughput_rps", p->throughput_rps);
    json_real(o, "good_rps", p->good_rps);
    json_real(o, "attainment", p->requests ? (double)p->good / (double)p->requests : NAN);
    json_real(o, "mean_latency_ns", p->mean_latency_ns);
    json_real(o, "mean_in_system", p->mean_in_system);
    json_percentile(o, "queue_delay_p99", &p->queue_delay_p99);
    json_percentile(o, "ttft_p50", &p->ttft_p50);
    json_percentile(o, "ttft_p99", &p->ttft_p99);
    json_percentile(o, "tpot_p50", &p->tpot_p50);
    json_percentile(o, "tpot_p99", &p->tpot_p99);
    json_percentile(o, "e2e_p50", &p->e2e_p50);
    json_percentile(o, "e2e_p99", &p->e2e_p99);
    cJSON_AddBoolToObject(o, "stable", p->stable);
    cJSON_AddStringToObject(o, "verdict", slo_answer_name(point_verdict(p, limits)));
}

void json_limits(cJSON *o, const struct sim_setup *s) {
    const struct point_limits *l = &s->run.limits;
    cJSON *q = cJSON_AddObjectToObject(o, "limits");
    json_ns(q, "ttft_p99_below_ns", l->ttft_below_ns < INT64_MAX ? l->ttft_below_ns : -1);
    json_ns(q, "tpot_p99_below_ns", l->tpot_below_ns < INT64_MAX ? l->tpot_below_ns : -1);
    json_ns(q, "e2e_p99_below_ns", l->e2e_below_ns < INT64_MAX ? l->e2e_below_ns : -1);
    cJSON_AddBoolToObject(q, "default", s->default_limits);
}

/* ---- dollars ---- */

static void json_dollars(cJSON *o, const struct run_report *r) {
    if (!r->flags->usd_per_gpu_hour) return;
    double value;
    char why[300];
    double window_s = r->m->has_rates ? (double)(r->m->to_ns - r->m->from_ns) / NS_PER_S : 0;
    cJSON *q = cJSON_AddObjectToObject(o, "dollars");
    cJSON_AddNumberToObject(q, "usd_per_gpu_hour", r->flags->usd_per_gpu_hour);
    cJSON_AddNumberToObject(q, "reserve_fraction", r->flags->reserve_fraction);
    json_real(q, "provisioned_gpus", (double)r->flags->servers / (1 - r->flags->reserve_fraction));
    if (sim_dollars(r->flags, &r->m->point, window_s, &value, why, sizeof why) == SLO_MET) {
        json_real(q, "complete_responses_per_usd", value);
        return;
    }
    cJSON_AddNullToObject(q, "complete_responses_per_usd");
    cJSON_AddStringToObject(q, "not_computable", why);
}

/* ---- a run ---- */

static void json_requests(cJSON *o, const struct run *r) {
    cJSON *list = cJSON_AddArrayToObject(o, "requests");
    for (size_t i = 0; i < r->n; i++) {
        const struct point_request *p = &r->list[i];
        bool done = p->end == POINT_DONE;
        struct point_intervals iv;
        point_intervals(p, &iv);
        cJSON *one = cJSON_CreateObject();
        json_ns(one, "arrival_ns", p->arrival_ns);
        json_ns(one, "start_ns", p->admitted_ns);
        json_ns(one, "completion_ns", done ? p->end_ns : -1);
        json_ns(one, "wait_ns", iv.queue_delay_ns);
        json_ns(one, "latency_ns", iv.e2e_ns);
        json_ns(one, "ttft_ns", iv.ttft_ns);
        json_ns(one, "tpot_ns", iv.tpot_ns);
        json_ns(one, "end_ns", p->end_ns);
        cJSON_AddNumberToObject(one, "output_tokens", p->output_tokens);
        cJSON_AddStringToObject(one, "class", class_name(point_classify(p)));
        cJSON_AddItemToArray(list, one);
    }
}

static void json_window(cJSON *o, const struct run_report *r) {
    cJSON *w = cJSON_AddObjectToObject(o, "window");
    json_add_int(w, "from_ns", r->m->from_ns);
    json_add_int(w, "to_ns", r->m->to_ns);
    json_add_int(w, "warm_up_ns", r->setup->run.warm_up_ns);
    cJSON_AddStringToObject(w, "rule",
                            "requests that arrive from from_ns on and before to_ns, whenever they "
                            "end; throughput_rps: complete ones that end in it");
    json_point(w, &r->m->point, &r->setup->run.limits);
    if (r->m->has_rates) return;
    static const char *const rates[] = {"offered_rps", "throughput_rps", "good_rps", "stable",
                                        "mean_in_system"};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        cJSON_ReplaceItemInObject(w, rates[i], cJSON_CreateNull());
}

void json_facts(cJSON *o, const struct workload_facts *f) {
    if (!f->rows) return;
    cJSON *t = cJSON_AddObjectToObject(o, "trace");
    json_add_int(t, "rows", f->rows);
    json_add_int(t, "skipped_rows", f->skipped);
    json_add_int(t, "zero_token_rows", f->zero_token_rows);
    json_add_int(t, "prompt_tokens", f->prompt_tokens);
    json_add_int(t, "output_tokens", f->output_tokens);
    cJSON_AddBoolToObject(t, "unsorted", f->unsorted);
    json_real(t, "recorded_rps", f->recorded_rps);
}

static void json_server(cJSON *o, const struct run_report *r) {
    const struct run_measures *m = r->m;
    const struct sim_counters *c = &r->run->counters;
    json_real(o, "qps", m->throughput_rps);
    json_real(o, "output_tps", m->output_tps);
    json_real(o, "total_tps", m->total_tps);
    json_real(o, "ips", m->ips);
    json_add_int(o, "forward_passes", c->iterations);
    json_real(o, "busy_share", m->busy_share);
    json_real(o, "mean_batch", m->mean_batch);
    json_real(o, "kv_peak_share", m->kv_peak_share);
    json_real(o, "kv_mean_share", m->kv_mean_share);
    json_add_int(o, "preemptions", c->preemptions);
    json_add_int(o, "prefix_cached_tokens", c->cached_tokens);
    json_add_int(o, "policy_calls", c->policy_calls);
    json_add_int(o, "shed_by_policy", r->run->by_policy);
    json_add_int(o, "shed_too_large", r->run->too_large);
    json_add_int(o, "shed_queue_full", r->run->queue_full);
    cJSON *l = cJSON_AddObjectToObject(o, "littles_law");
    cJSON_AddBoolToObject(l, "holds",
                          true); /* otherwise run_check has failed and nothing is printed */
    json_real(l, "mean_in_system", m->little_l);
    json_real(l, "arrivals_per_s", m->little_lambda_rps);
    json_real(l, "mean_time_in_system_ns", m->little_w_ns);
}

void print_run_json(const struct run_report *r) {
    const struct operating_point *p = &r->m->point;
    char text[400];
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "policy", r->flags->policy);
    cJSON_AddStringToObject(o, "workload",
                            sim_workload_text(r->flags, r->setup, text, sizeof text));
    cJSON_AddStringToObject(o, "machine", sim_machine_text(r->flags, r->setup, text, sizeof text));
    if (r->flags->per_request) json_requests(o, r->run);
    json_add_int(o, "n", (int64_t)r->run->n);
    json_real(o, "mean_latency_ns", p->mean_latency_ns);
    json_real(o, "mean_wait_ns", r->m->mean_wait_ns);
    json_ns(o, "p50_latency_ns", p->e2e_p50.present && !p->e2e_p50.infinite ? p->e2e_p50.ns : -1);
    json_ns(o, "p99_latency_ns", p->e2e_p99.present && !p->e2e_p99.infinite ? p->e2e_p99.ns : -1);
    json_real(o, "throughput_rps", r->m->throughput_rps);
    json_add_int(o, "interval_ns", r->m->interval_ns);
    json_window(o, r);
    cJSON *q = cJSON_GetObjectItem(o, "window");
    json_percentile(q, "queue_delay_p50", &r->m->queue_delay_p50);
    if (r->recorder) {
        struct percentile p50 = recorder_itl(r->recorder, r->m->from_ns, 50000);
        struct percentile p99 = recorder_itl(r->recorder, r->m->from_ns, 99000);
        json_percentile(q, "itl_p50", &p50);
        json_percentile(q, "itl_p99", &p99);
    } else {
        cJSON_AddNullToObject(q, "itl_p50");
        cJSON_AddNullToObject(q, "itl_p99");
    }
    json_server(o, r);
    json_limits(o, r->setup);
    json_facts(o, &r->setup->facts);
    json_dollars(o, r);
    json_dump(o, stdout);
    cJSON_Delete(o);
}
