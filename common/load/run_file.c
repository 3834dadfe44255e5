/* run_file.c: see run_file.h. */
#include "load/run_file.h"

#include "base/buffer.h"
#include "base/json.h"
#include "base/target.h"
#include "workload/spec.h"

#include <curl/curl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static void add_ns(cJSON *o, const char *key, int64_t ns) {
    if (ns >= 0)
        json_add_int(o, key, ns);
    else
        cJSON_AddNullToObject(o, key);
}

static void add_real(cJSON *o, const char *key, double v) {
    if (isfinite(v))
        cJSON_AddNumberToObject(o, key, v);
    else
        cJSON_AddNullToObject(o, key);
}

/* Only what the kind of arrivals has. */
static void add_if(cJSON *o, const char *key, double v) {
    if (v > 0) cJSON_AddNumberToObject(o, key, v);
}

static void add_lengths(cJSON *o, const char *key, struct lengths l) {
    if (l.hi == 0) return;
    cJSON *pair = cJSON_AddObjectToObject(o, key);
    cJSON_AddNumberToObject(pair, "lo", l.lo);
    cJSON_AddNumberToObject(pair, "hi", l.hi);
}

static void add_workload(cJSON *root, const struct run_file *f) {
    const struct workload_spec *s = f->spec;
    const struct load_job *j = f->job;
    cJSON *o = cJSON_AddObjectToObject(root, "workload");
    cJSON_AddStringToObject(o, "arrivals", spec_arrivals_name(s->arrivals));
    add_ns(o, "requests", j->requests > 0 ? j->requests : -1);
    add_real(o, "rate_rps", s->rate_rps > 0 ? s->rate_rps : NAN);
    add_if(o, "cv", s->cv);
    add_if(o, "on_s", s->on_s);
    add_if(o, "off_s", s->off_s);
    add_if(o, "clients", s->clients);
    if (s->arrivals == ARRIVALS_CLOSED) {
        cJSON_AddNumberToObject(o, "think_s", s->think_s);
        cJSON_AddNumberToObject(o, "pause_after_failure_ms", LOAD_PAUSE_MS);
    }
    if (s->arrivals == ARRIVALS_LIST) {
        cJSON *list = cJSON_AddArrayToObject(o, "list_ns");
        for (int64_t i = 0; i < s->requests; i++)
            cJSON_AddItemToArray(list, cJSON_CreateNumber((double)s->list_ns[i]));
    }
    if (s->arrivals == ARRIVALS_TRACE) {
        cJSON_AddStringToObject(o, "trace", s->trace);
        cJSON_AddStringToObject(o, "trace_format", spec_trace_format_name(s->trace_format));
        cJSON_AddNumberToObject(o, "time_scale", s->time_scale > 0 ? s->time_scale : 1);
        json_add_int(o, "trace_rows", f->facts->rows);
        json_add_int(o, "trace_rows_skipped", f->facts->skipped);
    }
    add_lengths(o, "prompt_tokens", s->prompt_tokens);
    add_lengths(o, "output_tokens", s->output_tokens);
    add_if(o, "max_output_tokens", s->max_output_tokens);
    json_add_int(o, "seed", (int64_t)s->seed);
    json_add_int(o, "prompt_salt", (int64_t)j->prompts.salt);
    cJSON_AddStringToObject(o, "prompts", j->ids ? "token_ids" : "words");
    if (j->ids) cJSON_AddNumberToObject(o, "prompt_ids_below", j->prompts.vocab);
    cJSON_AddNumberToObject(o, "shared_prefix_tokens", j->prompts.shared_tokens);
    cJSON_AddStringToObject(o, "route", f->route);
    cJSON_AddBoolToObject(o, "ignore_eos", j->ignore_eos);
    cJSON_AddNumberToObject(o, "temperature", j->temperature);
    cJSON_AddNumberToObject(o, "check_share", j->check_share);
    json_add_int(o, "check_prompts", j->n_checks);
    cJSON_AddNumberToObject(o, "retries", 0);
}

static void add_schedule(cJSON *root, const struct load_results *r) {
    struct load_window w = load_window_of(r);
    cJSON *o = cJSON_AddObjectToObject(root, "schedule");
    cJSON_AddStringToObject(o, "clock_api", "CLOCK_MONOTONIC");
    json_add_int(o, "ahead_of_monotonic_ns", LOAD_CLOCK_AHEAD_NS);
    add_ns(o, "first_t_ns", load_clock_ns(r->first_ns));
    add_ns(o, "last_t_ns", r->n > 0 ? load_clock_ns(r->rows[r->n - 1].scheduled_ns) : -1);
    add_ns(o, "window_from_t_ns", load_clock_ns(w.from_ns));
    add_ns(o, "window_to_t_ns", load_clock_ns(w.to_ns));
    add_real(o, "warm_up_s", (double)r->warm_up_ns / 1e9);
    add_real(o, "cool_down_s", (double)r->cool_down_ns / 1e9);
    add_real(o, "duration_s", r->duration_ns > 0 ? (double)r->duration_ns / 1e9 : NAN);
    cJSON_AddStringToObject(
        o, "rule",
        "a request counts when its scheduled send lies in the window, both ends included; the "
        "window goes from first + warm-up to end - cool-down, and the end is first + duration or, "
        "without one, the last scheduled send");
}

static void add_counts(cJSON *root, const struct load_results *r) {
    struct load_counts c;
    load_count(r, &c);
    cJSON *o = cJSON_AddObjectToObject(root, "counts");
    const struct {
        const char *key;
        int64_t n;
    } all[] = {{"requests", c.requests},
               {"sent", c.sent},
               {"answered_whole", c.whole},
               {"timed_out", c.timed_out},
               {"interrupted", c.interrupted},
               {"http_errors", c.http_errors},
               {"no_answer", c.no_answer},
               {"in_window", c.measured},
               {"straddle_warm_up", c.straddle_warm_up},
               {"straddle_end", c.straddle_end},
               {"check_prompts", c.checks},
               {"shorter_than_asked", c.short_answers},
               {"prompt_tokens_differ", c.wrong_prompts},
               {"more_chunks_than_tokens", c.chunks_over_usage},
               {"more_tokens_than_asked", c.over_asked},
               {"kept_connection_broke", c.resent}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) json_add_int(o, all[i].key, all[i].n);
}

static void add_lag(cJSON *root, const struct load_results *r) {
    struct load_lag lag;
    load_lag_of(r, &lag);
    cJSON *o = cJSON_AddObjectToObject(root, "lag");
    add_ns(o, "p50_ns", lag.p50_ns);
    add_ns(o, "p99_ns", lag.p99_ns);
    add_ns(o, "max_ns", lag.max_ns);
    add_ns(o, "limit_of_p99_ns", lag.limit_ns);
    add_ns(o, "median_ttft_ns", lag.median_ttft_ns);
}

/* The processor's name, where the system says it. */
static void machine_text(char *out, size_t cap) {
    struct utsname u;
    char line[256], cpu[128] = "";
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && !cpu[0] && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon) continue;
        text_cut(cpu, sizeof cpu, colon + 2);
        cpu[strcspn(cpu, "\n")] = '\0';
    }
    if (f) fclose(f);
    if (uname(&u)) memset(&u, 0, sizeof u);
    snprintf(out, cap, "%s %s, %ld CPU%s%s%s", u.sysname, u.machine, sysconf(_SC_NPROCESSORS_ONLN),
             sysconf(_SC_NPROCESSORS_ONLN) == 1 ? "" : "s", cpu[0] ? ", " : "", cpu);
}

static void add_client(cJSON *root, const struct run_file *f) {
    const struct load_results *r = f->results;
    struct load_lag lag;
    char machine[300];
    load_lag_of(r, &lag);
    machine_text(machine, sizeof machine);
    cJSON *o = cJSON_AddObjectToObject(root, "client");
    cJSON_AddStringToObject(o, "program", "servelab load");
    cJSON_AddStringToObject(o, "built_with", __VERSION__);
    cJSON_AddStringToObject(o, "libcurl", curl_version_info(CURLVERSION_NOW)->version);
    cJSON_AddStringToObject(o, "machine", machine);
    cJSON_AddBoolToObject(o, "real_time_priority", r->real_time);
    add_real(o, "busy_fraction", lag.busy);
    add_ns(o, "cpu_ns", r->cpu_ns);
    add_ns(o, "waited_for_a_core_ns", r->waited_ns);
    add_ns(o, "longest_turn_ns", r->longest_turn_ns);
    json_add_int(o, "in_flight_while_it_stood_still", r->stalled);
    cJSON_AddNumberToObject(o, "max_streams", f->job->max_streams);
    cJSON_AddBoolToObject(o, "max_streams_reached", r->streams_full);
}

static void add_tree(cJSON *o, const char *key, const cJSON *tree) {
    cJSON_AddItemToObject(o, key, tree ? cJSON_Duplicate(tree, true) : cJSON_CreateNull());
}

static void add_server(cJSON *root, const struct run_file *f) {
    cJSON *o = cJSON_AddObjectToObject(root, "server");
    cJSON_AddStringToObject(o, "url", f->url);
    cJSON_AddStringToObject(o, "model", f->job->model);
    cJSON_AddBoolToObject(o, "keeps_records", f->job->joins);
    add_ns(o, "pace_steps", f->results->pace_steps);
    add_ns(o, "pace_late_steps", f->results->pace_late);
    add_tree(o, "models", f->models);
    add_tree(o, "health_before", f->health_before);
    add_tree(o, "health_after", f->health_after);
}

static void add_records(cJSON *root, const struct run_file *f) {
    cJSON *o = cJSON_AddObjectToObject(root, "records");
    cJSON_AddStringToObject(o, "file", "records.jsonl");
    json_add_int(o, "joined", f->records->joined);
    json_add_int(o, "forgotten_by_server", f->records->forgotten);
    json_add_int(o, "not_taken_by_server", f->records->refused);
    json_add_int(o, "server_not_asked", f->records->unasked);
}

void run_file_stamp(struct run_file *f) {
    time_t now = time(NULL);
    struct tm t;
    gmtime_r(&now, &t);
    strftime(f->started_utc, sizeof f->started_utc, "%Y-%m-%dT%H:%M:%SZ", &t);
}

cJSON *run_file_json(const struct run_file *f) {
    const struct load_results *r = f->results;
    struct buffer reasons = {0};
    int n = load_invalid(r, &reasons);
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "schema", RUN_SCHEMA);
    cJSON_AddStringToObject(root, "started_utc", f->started_utc);
    cJSON_AddStringToObject(root, "command_line", f->command_line);
    cJSON_AddBoolToObject(root, "valid", n == 0);
    cJSON_AddItemToObject(root, "invalid_reasons", json_parse(reasons.bytes, reasons.n, 1, NULL));
    cJSON_AddBoolToObject(root, "interrupted", r->interrupted);
    if (f->paced[0])
        cJSON_AddStringToObject(root, "paced", f->paced);
    else
        cJSON_AddNullToObject(root, "paced");
    buffer_release(&reasons);
    add_workload(root, f);
    add_schedule(root, r);
    add_counts(root, r);
    add_lag(root, r);
    add_records(root, f);
    add_client(root, f);
    add_server(root, f);
    return root;
}

int run_file_write(const char *path, const cJSON *tree, struct err *e) {
    struct buffer b = {0};
    struct err why;
    char *text = cJSON_Print(tree);
    buffer_puts(&b, text ? text : "");
    buffer_puts(&b, "\n");
    int rc = 0;
    if (!text || b.failed)
        rc = err_set(e, "no memory for the run file");
    else if (target_write(path, b.bytes, b.n, &why))
        rc = err_at(e, 0, "--out", "%.200s %s", path, why.text);
    cJSON_free(text);
    buffer_release(&b);
    return rc;
}
