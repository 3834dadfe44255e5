/* report_tree.c: see report_tree.h. */
#include "report/report_tree.h"

#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void report_add_real(cJSON *o, const char *key, double v) {
    if (isfinite(v))
        cJSON_AddNumberToObject(o, key, v);
    else
        cJSON_AddNullToObject(o, key);
}

void report_add_count(cJSON *o, const char *key, int64_t n) {
    if (n >= 0)
        json_add_int(o, key, n);
    else
        cJSON_AddNullToObject(o, key);
}

static void add_text(cJSON *o, const char *key, const char *text) {
    if (text && text[0])
        cJSON_AddStringToObject(o, key, text);
    else
        cJSON_AddNullToObject(o, key);
}

/* ---- one point ------------------------------------------------------------------------------- */

static const char *const kind_names[] = {"measured", "paced", "simulated"};

/* Whose definitions the figures have. */
static void add_source(cJSON *point, const struct run_source *s) {
    if (!s->tool) {
        cJSON_AddNullToObject(point, "source");
        return;
    }
    cJSON *o = cJSON_AddObjectToObject(point, "source");
    cJSON_AddStringToObject(o, "tool", s->tool);
    add_text(o, "version", s->version);
    cJSON_AddStringToObject(o, "ttft", s->ttft);
    cJSON_AddStringToObject(o, "tpot", s->tpot);
    cJSON_AddStringToObject(o, "e2e", s->e2e);
    cJSON_AddStringToObject(o, "failures", s->failures);
}

static void add_run(cJSON *point, const struct report_run *run) {
    const cJSON *file = run->run_file;
    const cJSON *reasons = cJSON_GetObjectItemCaseSensitive(file, "invalid_reasons");
    cJSON_AddStringToObject(point, "run", run->name);
    cJSON_AddStringToObject(point, "times", kind_names[run->kind]);
    add_text(point, "pace", run->label);
    cJSON_AddStringToObject(point, "arrivals_seen_by", run->at_server ? "server" : "client");
    cJSON_AddBoolToObject(point, "closed_loop", run->closed_loop);
    add_source(point, &run->source);
    cJSON_AddBoolToObject(point, "run_valid", run->valid);
    cJSON_AddItemToObject(point, "run_invalid_reasons",
                          cJSON_IsArray(reasons) ? cJSON_Duplicate(reasons, true)
                                                 : cJSON_CreateArray());
    report_add_count(point, "records_left_out", run->left_out);
    report_add_count(point, "torn_lines", run->torn);
}

static void add_counts(cJSON *point, const struct report_point *p) {
    cJSON *o = cJSON_AddObjectToObject(point, "counts");
    json_add_int(o, "requests", p->requests);
    json_add_int(o, "attempts", p->attempts);
    json_add_int(o, "retried", p->retried);
    json_add_int(o, "completed", p->completed);
    report_add_count(o, "useful", p->counts.useful);
    report_add_count(o, "good", p->counts.useful < 0 ? -1 : p->good);
    json_add_int(o, "failed", p->counts.failed);
    cJSON *reasons = cJSON_AddObjectToObject(o, "by_reason");
    for (int i = 0; i < REASON_N; i++)
        json_add_int(reasons, completion_reason_name((enum completion_reason)i), p->by_reason[i]);
    json_add_int(reasons, FINISHED_BY_SERVER, p->finished_by_server);
    cJSON *quality = cJSON_AddObjectToObject(o, "quality");
    cJSON *structure = cJSON_AddObjectToObject(o, "structure");
    for (int i = VERDICT_NOT_EVALUATED; i <= VERDICT_NOT_REQUIRED; i++) {
        json_add_int(quality, verdict_name((enum verdict)i), p->quality[i]);
        json_add_int(structure, verdict_name((enum verdict)i), p->structure[i]);
    }
    json_add_int(o, "evaluated_by_another_check", p->other_check);
    report_add_count(o, "prompt_tokens", p->prompt_tokens);
    report_add_count(o, "cached_prompt_tokens", p->cached_prompt_tokens);
    report_add_count(o, "output_tokens", p->output_tokens);
}

static void add_rates(cJSON *point, const struct report_point *p) {
    double s = p->counts.interval_s;
    bool judged = p->counts.useful >= 0;
    cJSON *o = cJSON_AddObjectToObject(point, "rates");
    report_add_real(o, "offered_rps", (double)p->requests / s);
    report_add_real(o, "completed_rps", p->load.throughput_rps);
    report_add_real(o, "useful_rps", judged ? (double)p->useful / s : NAN);
    report_add_real(o, "good_rps", judged ? (double)p->good / s : NAN);
    report_add_real(o, "good_share", judged ? (double)p->good / (double)p->requests : NAN);
    report_add_real(o, "output_tokens_per_s",
                    p->output_tokens < 0 ? NAN : (double)p->output_tokens / s);
    report_add_real(o, "mean_e2e_ns", p->load.mean_latency_ns);
    report_add_real(o, "mean_in_system", p->load.mean_in_system);
}

/* Provisioned is what must stand ready for this load; busy is what worked; idle is the rest. */
static void add_resource(cJSON *point, const struct objective *o, const struct report_run *run,
                         const struct report_point *p) {
    char reason[400];
    double used = o->resource.accelerators, reserve = o->resource.reserve_fraction;
    double s = p->counts.interval_s, value = NAN, busy = p->gpu_seconds;
    const char *from = "gpu_seconds of the records, all attempts";
    if (isnan(busy) && run->steps.present) {
        busy = run->steps.busy_s;
        from = "the engine's steps";
    }
    enum slo_answer answer = slo_objective_value(o, &p->counts, &value, reason, sizeof reason);
    if (answer == SLO_MET && !p->load.stable) { /* or the most overloaded point would be cheapest */
        answer = SLO_NOT_COMPUTABLE;
        snprintf(reason, sizeof reason,
                 "the queue grows, so that answers of the window were computed after it, by "
                 "resource that isn't counted");
    }
    cJSON *r = cJSON_AddObjectToObject(point, "resource");
    add_text(r, "primary", o->resource.primary);
    report_add_real(r, "accelerators_used", used);
    report_add_real(r, "reserve_fraction", reserve);
    report_add_real(r, "accelerators_provisioned", used / (1 - reserve));
    report_add_real(r, "provisioned_seconds", used / (1 - reserve) * s);
    report_add_real(r, "reserve_seconds", used / (1 - reserve) * s - used * s);
    report_add_real(r, "busy_seconds", busy);
    add_text(r, "busy_from", isnan(busy) ? "" : from);
    report_add_real(r, "idle_fraction", 1 - busy / (used / (1 - reserve) * s));
    report_add_real(r, "useful_per_unit", answer == SLO_MET ? value : NAN);
    add_text(r, "not_computable",
             answer != SLO_MET ? reason
             : isfinite(value) ? ""
                               : "more than a number can hold; is the price right?");
    report_add_real(r, "joules", p->joules);
}

static void add_recovery(cJSON *point, const struct report_recovery *r) {
    cJSON *o = cJSON_AddObjectToObject(point, "recovery");
    json_add_int(o, "outages", r->outages);
    report_add_count(o, "longest_ns", r->unended ? -1 : r->longest_ns);
    cJSON_AddBoolToObject(o, "unended", r->unended);
}

/* They explain a result and are no part of it. */
static void add_diagnostics(cJSON *point, const struct run_steps *s) {
    if (!s->present) {
        cJSON_AddNullToObject(point, "diagnostics");
        return;
    }
    cJSON *o = cJSON_AddObjectToObject(point, "diagnostics");
    json_add_int(o, "engine_steps", s->n);
    report_add_real(o, "engine_busy_s", s->busy_s);
    report_add_real(o, "mean_batch_sequences", s->mean_sequences);
    json_add_int(o, "prefill_tokens", s->prefill_tokens);
    json_add_int(o, "decode_tokens", s->decode_tokens);
}

static cJSON *point_tree(const struct report_input *in, size_t i, const char *region) {
    const struct report_run *run = &in->runs[i];
    const struct report_point *p = &in->points[i];
    cJSON *o = cJSON_CreateObject();
    add_run(o, run);
    cJSON *window = cJSON_AddObjectToObject(o, "window");
    json_add_int(window, "from_ns", p->window.from_ns);
    json_add_int(window, "to_ns", p->window.to_ns);
    report_add_real(window, "seconds", p->counts.interval_s);
    cJSON_AddStringToObject(window, "from",
                            run->run_file ? "run file" : "first arrival to last arrival");
    cJSON_AddStringToObject(o, "verdict", slo_answer_name(report_verdict(in->o, p)));
    add_text(o, "region", region);
    cJSON_AddItemToObject(o, "parts", report_parts(in->o, p));
    add_counts(o, p);
    add_rates(o, p);
    add_resource(o, in->o, run, p);
    add_recovery(o, &p->recovery);
    cJSON_AddItemToObject(o, "latency", report_latency(run, p));
    add_diagnostics(o, &run->steps);
    cJSON_AddItemToObject(o, "timelines", report_timelines(run, p));
    return o;
}

/* ---- the curve ------------------------------------------------------------------------------- */

static void add_index(cJSON *o, const char *key, int at) {
    report_add_count(o, key, at);
}

static const char *const region_names[] = {"underloaded", "knee", "overloaded"};

/* Only runs whose client kept up may be chosen: the others are left out of the comparison, and have
 * no region. regions: (in->n) names, NULL before. */
static int compare(const struct report_input *in, const char **regions, struct report_regions *out,
                   struct err *e) {
    struct report_point *valid = calloc(in->n + 1, sizeof *valid);
    struct operating_point *loads = calloc(in->n + 1, sizeof *loads);
    size_t *back = calloc(in->n + 1, sizeof *back), n = 0;
    int rc = -1;
    if (valid && loads && back) {
        for (size_t i = 0; i < in->n; i++) {
            if (!in->runs[i].valid) continue;
            back[n] = i;
            loads[n] = in->points[i].load;
            valid[n++] = in->points[i];
        }
        for (size_t i = 0; i < n; i++) regions[back[i]] = region_names[curve_region(loads, n, i)];
        rc = report_regions(in->o, valid, n, out, e);
        if (out->knee >= 0) out->knee = (int)back[out->knee];
        if (out->saturation >= 0) out->saturation = (int)back[out->saturation];
        if (out->best_valid >= 0) out->best_valid = (int)back[out->best_valid];
    } else {
        err_set(e, "no memory for %zu points", in->n);
    }
    free(valid);
    free(loads);
    free(back);
    return rc;
}

/* Goodput in the field's two senses, by names that tell them apart. */
static void add_goodput(cJSON *root, const struct report_input *in) {
    double best = NAN, rate = NAN;
    int best_at = -1, rate_at = -1;
    for (size_t i = 0; i < in->n; i++) {
        const struct report_point *p = &in->points[i];
        double good_rps = (double)p->good / p->counts.interval_s;
        double offered_rps = (double)p->requests / p->counts.interval_s;
        if (!in->runs[i].valid || p->counts.useful < 0 || !p->load.stable) continue;
        if (best_at < 0 || good_rps > best) {
            best = good_rps;
            best_at = (int)i;
        }
        bool attains = (double)p->good >= in->attainment * (double)p->requests;
        if (attains && (rate_at < 0 || offered_rps > rate)) {
            rate = offered_rps;
            rate_at = (int)i;
        }
    }
    cJSON *o = cJSON_AddObjectToObject(root, "goodput");
    cJSON *good = cJSON_AddObjectToObject(o, "good_requests_per_second");
    cJSON_AddStringToObject(
        good, "definition",
        "requests that are useful and within every limit for one request, per "
        "second of the window; the highest of the points whose queue is stable");
    report_add_real(good, "rps", best);
    add_index(good, "point", best_at);
    cJSON *attained = cJSON_AddObjectToObject(o, "rate_at_attainment");
    cJSON_AddStringToObject(attained, "definition",
                            "the highest offered load per accelerator at which the queue is stable "
                            "and at least this share of all requests is good");
    report_add_real(attained, "attainment", in->attainment);
    report_add_real(attained, "rps_per_accelerator", rate / in->o->resource.accelerators);
    add_index(attained, "point", rate_at);
}

/* All runs of a curve have times of one kind. */
static int check_kinds(const struct report_input *in, struct err *e) {
    const struct report_run *first = &in->runs[0];
    for (size_t i = 1; i < in->n; i++) {
        const struct report_run *run = &in->runs[i];
        if (run->kind == first->kind && !strcmp(run->label, first->label)) continue;
        return err_set(e, "%.120s is %s%s%s and %.120s is %s%s%s: they don't belong on one curve",
                       first->name, kind_names[first->kind], first->label[0] ? ", " : "",
                       first->label, run->name, kind_names[run->kind], run->label[0] ? ", " : "",
                       run->label);
    }
    return 0;
}

cJSON *report_tree(const struct report_input *in, struct err *e) {
    struct report_regions at;
    const char **regions = calloc(in->n, sizeof *regions);
    if (!regions) err_set(e, "no memory for %zu points", in->n);
    if (!regions || check_kinds(in, e) || compare(in, regions, &at, e)) {
        free(regions);
        return NULL;
    }
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "schema", REPORT_SCHEMA);
    cJSON_AddItemToObject(root, "objective", cJSON_Duplicate(in->objective, true));
    cJSON *curve = cJSON_AddObjectToObject(root, "curve");
    add_index(curve, "knee", at.knee);
    add_index(curve, "saturation", at.saturation);
    add_index(curve, "chosen", at.best_valid);
    add_goodput(root, in);
    cJSON *points = cJSON_AddArrayToObject(root, "points");
    for (size_t i = 0; i < in->n; i++) cJSON_AddItemToArray(points, point_tree(in, i, regions[i]));
    if (in->predicted)
        cJSON_AddItemToObject(root, "predicted", cJSON_Duplicate(in->predicted, true));
    else
        cJSON_AddNullToObject(root, "predicted");
    cJSON_AddItemToObject(root, "cannot_say", report_cannot_say(in));
    free(regions);
    return root;
}
