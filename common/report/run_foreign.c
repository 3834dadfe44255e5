/* run_foreign.c: see run_foreign.h. */
#include "report/run_foreign.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/regular.h"
#include "report/report_print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_vllm(struct report_run *run, const cJSON *root, struct err *e);
static int read_guidellm(struct report_run *run, const cJSON *root, struct err *e);
static int read_aiperf(struct report_run *run, const char *path, struct err *e);

static const struct run_source vllm = {
    .tool = "vLLM bench",
    .ttft = "sent to the first chunk that it counts: with text, or in completions with a choice",
    .tpot = "(last counted chunk - sent - TTFT) / (tokens - 1)",
    .e2e = "sent to the last counted chunk; the finish chunk of completions counts",
    .failures = "the text of an error, without its HTTP status"};
static const struct run_source aiperf = {
    .tool = "AIPerf",
    .ttft = "sent to the first response with text, reasoning or a call",
    .tpot = "its ITL: (last response with text - sent - TTFT) / (tokens - 1)",
    .e2e = "sent to the last response with text",
    .failures = "the type and, of an HTTP error, the status",
    .loop_unknown = true};
static const struct run_source guidellm = {
    .tool = "GuideLLM",
    .ttft = "header written, after connecting, to the first chunk with text, reasoning or a call",
    .tpot = "its ITL: (last chunk with text - first) / (tokens - 1); its own TPOT has the first "
            "token in it and is not read",
    .e2e = "header written to the end of the stream",
    .failures = "errored, or incomplete at the end of the run, which counts as cancelled"};

/* The first line's JSON tree; NULL if it is none. */
static cJSON *first_line(const char *path) {
    char *line = NULL;
    size_t room = 0;
    struct err ignored;
    FILE *f = regular_open(path, &ignored);
    ssize_t len = f ? regular_line(&line, &room, f, 1, &ignored) : -1;
    cJSON *o = len > 1 ? json_parse(line, (size_t)len, 1, &ignored) : NULL;
    if (f) fclose(f);
    free(line);
    return o;
}

static bool has(const cJSON *o, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(o, key) != NULL;
}

/* A whole file that is one JSON object without a schema of ours. */
static int read_object(struct report_run *run, const cJSON *root, struct err *e) {
    if (has(root, "schema")) return 0;
    if (has(root, "aiperf_version"))
        return err_set(e, "is AIPerf's summary. Give the profile_export.jsonl beside it, which has "
                          "its requests");
    if (has(root, "benchmarks") && has(root, "metadata"))
        return read_guidellm(run, root, e) ? -1 : 1;
    if (!has(root, "request_throughput") || !has(root, "backend")) return 0;
    if (!has(root, "start_times") || !has(root, "ttfts"))
        return err_set(e, "is a summary of vllm bench serve. Run it with --save-detailed, which "
                          "writes each request");
    return read_vllm(run, root, e) ? -1 : 1;
}

/* Times are counted from the first request: the tools' clocks have different zeros, some of which
 * leave no room for nanoseconds. */
static void begin_at_zero(struct report_run *run) {
    int64_t first_ns = INT64_MAX;
    for (size_t i = 0; i < run->n_attempts; i++)
        if (run->attempts[i].submitted_ns < first_ns) first_ns = run->attempts[i].submitted_ns;
    for (size_t i = 0; i < run->n_attempts; i++) {
        run->attempts[i].submitted_ns -= first_ns;
        if (run->attempts[i].ended_ns >= 0) run->attempts[i].ended_ns -= first_ns;
    }
}

static int read_any(struct report_run *run, const char *path, struct err *e) {
    struct err ignored;
    cJSON *line = first_line(path);
    bool lines = line && has(line, "metadata") && (has(line, "metrics") || has(line, "error"));
    bool ours = line && has(line, "schema");
    cJSON_Delete(line);
    if (lines) return read_aiperf(run, path, e) ? -1 : 1;
    if (ours) return 0;
    cJSON *root = json_parse_file(path, &ignored);
    int rc = root ? read_object(run, root, e) : 0;
    cJSON_Delete(root);
    return rc;
}

int run_foreign_read(struct report_run *run, const char *path, struct err *e) {
    int rc = read_any(run, path, e);
    if (rc == 1) begin_at_zero(run);
    return rc;
}

/* ---- attempts -------------------------------------------------------------------------------- */

/* An empty attempt of the run: nothing is known of it. NULL and *e: memory is out. */
static struct report_attempt *add_attempt(struct report_run *run, struct err *e) {
    size_t n = run->n_attempts;
    if (n == 0 || (n >= 64 && (n & (n - 1)) == 0)) { /* full at each power of two */
        struct report_attempt *wider =
            realloc(run->attempts, (n ? 2 * n : 64) * sizeof *run->attempts);
        if (!wider) {
            err_set(e, "no memory for its requests");
            return NULL;
        }
        run->attempts = wider;
    }
    struct report_attempt *a = &run->attempts[run->n_attempts++];
    *a = (struct report_attempt){.attempt = 1,
                                 .submitted_ns = -1,
                                 .ended_ns = -1,
                                 .reason = REASON_NOT_DELIVERED,
                                 .quality = VERDICT_NOT_EVALUATED,
                                 .structure = VERDICT_NOT_EVALUATED,
                                 .prompt_tokens = -1,
                                 .cached_prompt_tokens = -1,
                                 .output_tokens = -1,
                                 .gpu_seconds = NAN,
                                 .joules = NAN};
    for (enum interval_id id = 0; id < IV_N; id++) {
        struct interval *iv = (struct interval *)interval_get(&a->iv, id);
        iv->status = INTERVAL_ABSENT;
    }
    return a;
}

static int set_time(int64_t *out, double seconds, const char *field, struct err *e) {
    if (isnan(seconds)) return err_at(e, 0, field, "is missing or no number");
    if (!(seconds >= 0 && seconds < 9e9))
        return err_at(e, 0, field, "is %g s, which isn't a time", seconds);
    *out = llround(seconds * (double)NS_PER_S);
    return 0;
}

static int set_interval(struct interval *iv, double seconds, const char *field, struct err *e) {
    int64_t ns = 0;
    if (set_time(&ns, seconds, field, e)) return -1;
    *iv = (struct interval){.status = INTERVAL_OK, .ns = ns};
    return 0;
}

/* An error of a file without lines names the request. */
static int in_request(const struct report_attempt *a, struct err *e) {
    struct err why = *e;
    return err_at(e, why.line, why.field, "%s, in '%s'", why.text, a->request_id);
}

/* The names of three times in the tool's file. */
struct time_names {
    const char *ttft, *e2e, *last;
};

/* Of a completed answer: TTFT, its end after the send, and TPOT from the first to the last token,
 * which is absent without decode_s (NaN). */
static int set_times(struct report_attempt *a, double ttft_s, double e2e_s, double decode_s,
                     const struct time_names *name, struct err *e) {
    const double rounded_s = 1e-6; /* times since 1970 in floating point */
    if (set_interval(&a->iv.client_ttft, ttft_s, name->ttft, e) ||
        set_interval(&a->iv.e2e, e2e_s, name->e2e, e))
        return -1;
    a->ended_ns = a->submitted_ns + a->iv.e2e.ns;
    a->reason = REASON_DELIVERED;
    if (decode_s < -rounded_s)
        return err_at(e, 0, name->last, "is %g s before the first token", -decode_s);
    if (a->output_tokens < 2 || isnan(decode_s)) return 0;
    a->iv.tpot_boundary = TPOT_BROWSER_BYTES;
    return set_interval(&a->iv.tpot, fmax(decode_s, 0) / (a->output_tokens - 1), name->last, e);
}

/* A member that is an object; NULL where it is missing or null. */
static int get_part(const cJSON *o, const char *key, const cJSON **out, struct err *e) {
    const cJSON *part = cJSON_GetObjectItemCaseSensitive(o, key);
    *out = cJSON_IsObject(part) ? part : NULL;
    return !part || *out || cJSON_IsNull(part) ? 0 : err_at(e, 0, key, "must be an object");
}

static int get_tokens(const cJSON *o, const char *path, const char *key, int32_t *out,
                      struct err *e) {
    int64_t n = -1;
    bool found = false;
    if (json_get_int_opt(o, path, key, 0, INT32_MAX, &n, &found, e)) return -1;
    if (found) *out = (int32_t)n;
    return 0;
}

static void name_request(struct report_attempt *a, const char *id, size_t n) {
    if (id && id[0])
        text_cut(a->request_id, sizeof a->request_id, id);
    else
        snprintf(a->request_id, sizeof a->request_id, "request %zu", n);
}

/* ---- vLLM: one array a quantity -------------------------------------------------------------- */

enum { V_START, V_TTFT, V_ITL, V_IN, V_OUT, V_ERROR, V_COLUMNS };
static const char *const columns[V_COLUMNS] = {"start_times", "ttfts",       "itls",
                                               "input_lens",  "output_lens", "errors"};

static double sum_of(const cJSON *list) {
    const cJSON *gap;
    double sum = 0;
    cJSON_ArrayForEach(gap, list) sum += cJSON_IsNumber(gap) ? gap->valuedouble : NAN;
    return sum;
}

static int read_vllm_request(struct report_attempt *a, const cJSON *const at[V_COLUMNS],
                             const cJSON *latency, struct err *e) {
    for (int c = 0; c < V_COLUMNS; c++) {
        bool fits = c == V_ITL     ? cJSON_IsArray(at[c])
                    : c == V_ERROR ? cJSON_IsString(at[c]) || cJSON_IsNull(at[c])
                                   : cJSON_IsNumber(at[c]) && at[c]->valuedouble >= 0;
        if (c == V_IN || c == V_OUT) fits = fits && at[c]->valuedouble <= INT32_MAX;
        if (!fits)
            return err_at(e, 0, columns[c], "of %s has another type than vllm bench serve writes",
                          a->request_id);
    }
    a->prompt_tokens = (int32_t)at[V_IN]->valuedouble;
    if (set_time(&a->submitted_ns, at[V_START]->valuedouble, columns[V_START], e))
        return in_request(a, e);
    if (at[V_ERROR]->valuestring && at[V_ERROR]->valuestring[0]) return 0;
    a->output_tokens = (int32_t)at[V_OUT]->valuedouble;
    double ttft_s = at[V_TTFT]->valuedouble;
    double e2e_s = latency ? cJSON_GetNumberValue(latency) : ttft_s + sum_of(at[V_ITL]);
    const char *ends = latency ? "latencies" : columns[V_ITL];
    const struct time_names names = {columns[V_TTFT], ends, ends};
    return set_times(a, ttft_s, e2e_s, e2e_s - ttft_s, &names, e) ? in_request(a, e) : 0;
}

static int read_vllm(struct report_run *run, const cJSON *root, struct err *e) {
    const cJSON *at[V_COLUMNS], *latency = cJSON_GetObjectItemCaseSensitive(root, "latencies");
    int n = -1;
    for (int c = 0; c < V_COLUMNS; c++) {
        if (json_get_array(root, "", columns[c], &at[c], e)) return -1;
        int length = cJSON_GetArraySize(at[c]);
        if (n >= 0 && n != length)
            return err_at(e, 0, columns[c], "has %d members and %s has %d", length, columns[0], n);
        n = length;
        at[c] = at[c]->child;
    }
    if (latency && !(cJSON_IsArray(latency) && cJSON_GetArraySize(latency) == n))
        return err_at(e, 0, "latencies", "isn't a list of %d members, as %s is", n, columns[0]);
    if (latency) latency = latency->child;
    for (int i = 0; i < n; i++) {
        struct report_attempt *a = add_attempt(run, e);
        if (!a) return -1;
        name_request(a, NULL, (size_t)i + 1);
        if (read_vllm_request(a, at, latency, e)) return -1;
        for (int c = 0; c < V_COLUMNS; c++) at[c] = at[c]->next;
        if (latency) latency = latency->next;
    }
    run->closed_loop = cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(root, "max_concurrency"));
    run->source = vllm;
    return 0;
}

/* ---- GuideLLM -------------------------------------------------------------------------------- */

static int read_guidellm_request(struct report_attempt *a, const cJSON *o, bool done,
                                 struct err *e) {
    const char *id = NULL;
    const cJSON *info, *timings, *in, *out;
    double start = NAN, end = NAN, first = NAN, last = NAN;
    bool found = false;
    if (json_get_string_opt(o, "", "request_id", &id, &found, e)) return -1;
    name_request(a, id, (size_t)a->line);
    if (json_get_object(o, "", "info", &info, e) ||
        json_get_object(info, "info", "timings", &timings, e) ||
        json_get_number_opt(timings, "info.timings", "request_start", &start, &found, e) ||
        json_get_number_opt(timings, "info.timings", "request_end", &end, &found, e) ||
        json_get_number_opt(timings, "info.timings", "first_token_iteration", &first, &found, e) ||
        json_get_number_opt(timings, "info.timings", "last_token_iteration", &last, &found, e))
        return -1;
    if (get_part(o, "input_metrics", &in, e) || get_part(o, "output_metrics", &out, e) ||
        get_tokens(in, "input_metrics", "total_tokens", &a->prompt_tokens, e) ||
        get_tokens(out, "output_metrics", "total_tokens", &a->output_tokens, e))
        return -1;
    if (isnan(start) && !done)
        json_get_number_opt(timings, "info.timings", "targeted_start", &start, &found, e);
    if (isnan(start) && !done) return 0; /* it was never sent */
    if (set_time(&a->submitted_ns, start, "info.timings.request_start", e)) return -1;
    static const struct time_names names = {"info.timings.first_token_iteration",
                                            "info.timings.request_end",
                                            "info.timings.last_token_iteration"};
    return done ? set_times(a, first - start, end - start, last - first, &names, e) : 0;
}

static int read_guidellm_list(struct report_run *run, const cJSON *requests, const char *key,
                              enum completion_reason reason, struct err *e) {
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(requests, key), *o;
    struct err why;
    int i = 0;
    if (!cJSON_IsArray(list))
        return err_at(e, 0, key,
                      "of benchmarks[0].requests is no list: write GuideLLM's JSON with "
                      "all requests");
    cJSON_ArrayForEach(o, list) {
        struct report_attempt *a = add_attempt(run, e);
        if (!a) return -1;
        a->line = (int)run->n_attempts;
        a->reason = reason;
        if (read_guidellm_request(a, o, reason == REASON_DELIVERED, e)) {
            why = *e;
            return err_at(e, 0, why.field, "%s, in benchmarks[0].requests.%s[%d]", why.text, key,
                          i);
        }
        i++;
        if (a->submitted_ns < 0) run->n_attempts--;
    }
    return 0;
}

static int read_guidellm(struct report_run *run, const cJSON *root, struct err *e) {
    const cJSON *meta, *benchmarks, *requests;
    const char *version = NULL;
    bool found;
    if (json_get_object(root, "", "metadata", &meta, e) ||
        json_get_string_opt(meta, "metadata", "guidellm_version", &version, &found, e) ||
        json_get_array(root, "", "benchmarks", &benchmarks, e))
        return -1;
    int n = cJSON_GetArraySize(benchmarks);
    if (n != 1)
        return err_at(e, 0, "benchmarks",
                      "has %d members, and a run is one operating point. Run each rate by itself",
                      n);
    if (json_get_object(benchmarks->child, "benchmarks[0]", "requests", &requests, e) ||
        read_guidellm_list(run, requests, "successful", REASON_DELIVERED, e) ||
        read_guidellm_list(run, requests, "errored", REASON_NOT_DELIVERED, e) ||
        read_guidellm_list(run, requests, "incomplete", REASON_CANCELLED, e))
        return -1;
    const char *strategy =
        report_string(benchmarks->child, "config.strategy.type_"); /* "poisson", "constant", .. */
    run->closed_loop = !strcmp(strategy, "concurrent") || !strcmp(strategy, "synchronous") ||
                       !strcmp(strategy, "throughput");
    run->source = guidellm;
    run->source.loop_unknown = !run->closed_loop && strcmp(strategy, "poisson") != 0 &&
                               strcmp(strategy, "constant") != 0 && strcmp(strategy, "async") != 0;
    if (version) text_cut(run->source.version, sizeof run->source.version, version);
    return 0;
}

/* ---- AIPerf: one request a line -------------------------------------------------------------- */

/* metrics.KEY.value in seconds; NaN where it is missing. */
static int get_metric(const cJSON *metrics, const char *key, double *seconds, struct err *e) {
    static const struct {
        const char *unit;
        double s;
    } units[] = {{"ms", 1e-3}, {"s", 1}, {"sec", 1}, {"us", 1e-6}, {"ns", 1e-9}};
    const cJSON *m = cJSON_GetObjectItemCaseSensitive(metrics, key);
    const char *unit;
    *seconds = NAN;
    if (!m || cJSON_IsNull(m)) return 0;
    if (json_get_number(m, key, "value", seconds, e) || json_get_string(m, key, "unit", &unit, e))
        return -1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(unit, units[i].unit)) {
            *seconds *= units[i].s;
            return 0;
        }
    return err_at(e, 0, key, "is in '%.30s', not in a unit of time", unit);
}

static int get_count(const cJSON *metrics, const char *key, int32_t *out, struct err *e) {
    const cJSON *m;
    return get_part(metrics, key, &m, e) ? -1 : get_tokens(m, key, "value", out, e);
}

static enum completion_reason reason_of(const cJSON *error, bool cancelled) {
    const cJSON *code = cJSON_GetObjectItemCaseSensitive(error, "code");
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(error, "type");
    double status = cJSON_IsNumber(code) ? code->valuedouble : 0;
    if (cancelled) return REASON_CANCELLED;
    if (status == 429 || status == 503) return REASON_REJECTED;
    if (status >= 500 && status < 600) return REASON_INTERNAL_ERROR;
    if (cJSON_IsString(type) && strstr(type->valuestring, "Timeout")) return REASON_TIMED_OUT;
    return REASON_NOT_DELIVERED;
}

static int read_aiperf_request(struct report_attempt *a, const cJSON *o, bool *profiled,
                               struct err *e) {
    const cJSON *meta, *error, *metrics;
    const char *id = NULL, *phase = "profiling";
    bool found, cancelled = false;
    double start_ns, ttft, e2e, itl;
    if (json_get_object(o, "", "metadata", &meta, e) || get_part(o, "error", &error, e) ||
        get_part(o, "metrics", &metrics, e) ||
        json_get_string_opt(meta, "metadata", "x_request_id", &id, &found, e) ||
        json_get_string_opt(meta, "metadata", "benchmark_phase", &phase, &found, e) ||
        json_get_number(meta, "metadata", "request_start_ns", &start_ns, e) ||
        set_time(&a->submitted_ns, start_ns / (double)NS_PER_S, "metadata.request_start_ns", e) ||
        get_metric(metrics, "time_to_first_token", &ttft, e) ||
        get_metric(metrics, "request_latency", &e2e, e) ||
        get_metric(metrics, "inter_token_latency", &itl, e) ||
        get_count(metrics, "input_sequence_length", &a->prompt_tokens, e) ||
        get_count(metrics, "output_sequence_length", &a->output_tokens, e))
        return -1;
    *profiled = !strcmp(phase, "profiling");
    if (!*profiled && strcmp(phase, "warmup") != 0)
        return err_at(e, 0, "metadata.benchmark_phase",
                      "'%.40s' is unknown; known are warmup and profiling", phase);
    name_request(a, id, (size_t)a->line);
    cancelled = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(meta, "was_cancelled"));
    a->reason = reason_of(error, cancelled);
    if (cancelled || error) return 0;
    if (!metrics) return err_at(e, 0, "metrics", "is missing, and no error says why");
    if (isnan(e2e)) return 0;
    a->reason = REASON_DELIVERED;
    if (set_interval(&a->iv.e2e, e2e, "request_latency", e)) return -1;
    a->ended_ns = a->submitted_ns + a->iv.e2e.ns;
    if (!isnan(ttft) && set_interval(&a->iv.client_ttft, ttft, "time_to_first_token", e)) return -1;
    if (isnan(itl)) return 0;
    a->iv.tpot_boundary = TPOT_BROWSER_BYTES;
    return set_interval(&a->iv.tpot, itl, "inter_token_latency", e);
}

static int read_aiperf_line(struct report_run *run, const char *line, size_t len, int n,
                            struct err *e) {
    struct report_attempt *a = add_attempt(run, e);
    cJSON *o = a ? json_parse(line, len, n, e) : NULL;
    bool profiled = true;
    if (!o) return -1;
    a->line = n;
    int rc = read_aiperf_request(a, o, &profiled, e);
    if (rc) e->line = n;
    if (!profiled) run->n_attempts--; /* of the warm-up */
    cJSON_Delete(o);
    return rc;
}

static int read_aiperf(struct report_run *run, const char *path, struct err *e) {
    char *line = NULL;
    size_t room = 0;
    ssize_t len;
    FILE *f = regular_open(path, e);
    if (!f) return -1;
    int rc = 0;
    for (int n = 1; !rc && (len = regular_line(&line, &room, f, n, e)) != 0; n++)
        rc = len < 0 ? -1 : read_aiperf_line(run, line, (size_t)len, n, e);
    free(line);
    fclose(f);
    run->source = aiperf;
    return rc;
}
