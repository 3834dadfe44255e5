/* report_text.c: what a report says, in words; Markdown and HTML only lay it out. See
 * report_print.h. */
#include "report/report_print.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- reading the tree ------------------------------------------------------------------------ */

const cJSON *report_at(const cJSON *tree, const char *path) {
    while (tree && *path) {
        char key[64];
        size_t n = strcspn(path, ".");
        if (n >= sizeof key) return NULL;
        memcpy(key, path, n);
        key[n] = '\0';
        tree = cJSON_GetObjectItemCaseSensitive(tree, key);
        path += n + (path[n] == '.');
    }
    return tree;
}

double report_number(const cJSON *tree, const char *path) {
    const cJSON *v = report_at(tree, path);
    return cJSON_IsNumber(v) ? v->valuedouble : NAN;
}

const char *report_string(const cJSON *tree, const char *path) {
    const cJSON *v = report_at(tree, path);
    return cJSON_IsString(v) ? v->valuestring : "";
}

/* ---- cells ----------------------------------------------------------------------------------- */

char *report_ms(char cell[REPORT_CELL], const cJSON *percentile) {
    double ns = report_number(percentile, "ns");
    const char *star = cJSON_IsTrue(report_at(percentile, "too_few")) ? "*" : "";
    if (isfinite(ns))
        snprintf(cell, REPORT_CELL, "%.1f%s", ns / 1e6, star);
    else
        snprintf(cell, REPORT_CELL, "%s",
                 cJSON_IsTrue(report_at(percentile, "infinite")) ? "infinite" : "absent");
    return cell;
}

char *report_value(char cell[REPORT_CELL], double v) {
    if (isfinite(v))
        snprintf(cell, REPORT_CELL, "%.4g", v);
    else
        snprintf(cell, REPORT_CELL, "not computable");
    return cell;
}

const char *const report_columns[REPORT_COLUMNS] = {
    "run",    "offered/s",    "region",       "verdict",      "completed/s", "useful/s",
    "good/s", "TTFT p50, ms", "TTFT p99, ms", "TPOT p99, ms", "e2e p99, ms"};

void report_row(char cells[REPORT_COLUMNS][REPORT_CELL], const cJSON *point) {
    bool at_server = !strcmp(report_string(point, "arrivals_seen_by"), "server");
    const cJSON *ttft = report_at(point, at_server ? "latency.server_ttft" : "latency.client_ttft");
    bool valid = cJSON_IsTrue(report_at(point, "run_valid"));
    text_cut(cells[0], 91, report_string(point, "run"));
    report_value(cells[1], report_number(point, "rates.offered_rps"));
    snprintf(cells[2], REPORT_CELL, "%s", valid ? report_string(point, "region") : "not compared");
    snprintf(cells[3], REPORT_CELL, "%s",
             valid ? report_string(point, "verdict") : "run is invalid");
    report_value(cells[4], report_number(point, "rates.completed_rps"));
    report_value(cells[5], report_number(point, "rates.useful_rps"));
    report_value(cells[6], report_number(point, "rates.good_rps"));
    report_ms(cells[7], report_at(ttft, "p50"));
    report_ms(cells[8], report_at(ttft, "p99"));
    report_ms(cells[9], report_at(point, "latency.tpot.p99"));
    report_ms(cells[10], report_at(point, "latency.e2e.p99"));
}

/* ---- sentences ------------------------------------------------------------------------------- */

/* Of the valid runs. verdict: NULL counts all of them. */
static int count_verdicts(const cJSON *tree, const char *verdict) {
    const cJSON *point;
    int n = 0;
    cJSON_ArrayForEach(point, report_at(tree, "points")) n +=
        cJSON_IsTrue(report_at(point, "run_valid")) &&
        (!verdict || !strcmp(report_string(point, "verdict"), verdict));
    return n;
}

static bool rests_on_few(const cJSON *point) {
    const cJSON *part;
    cJSON_ArrayForEach(
        part, report_at(point, "parts")) if (cJSON_IsTrue(report_at(part, "too_few"))) return true;
    return false;
}

static bool lacks_limits(const cJSON *point) {
    const cJSON *part;
    cJSON_ArrayForEach(part, report_at(point, "parts")) {
        if (!strcmp(report_string(part, "part"), "limits")) return true;
    }
    return false;
}

void report_headline(struct buffer *b, const cJSON *tree) {
    const cJSON *points = report_at(tree, "points");
    double at = report_number(tree, "curve.chosen");
    const cJSON *first = cJSON_GetArrayItem(points, 0);
    const char *pace = report_string(first, "pace");
    char cell[REPORT_CELL];
    if (isfinite(at)) {
        const cJSON *p = cJSON_GetArrayItem(points, (int)at);
        double useful = report_number(p, "rates.useful_rps");
        buffer_printf(b, "The objective is met at %s requests/s (%s). ",
                      report_value(cell, report_number(p, "rates.offered_rps")),
                      report_string(p, "run"));
        if (isfinite(useful))
            buffer_printf(b, "Useful completions: %s/s.", report_value(cell, useful));
        else
            buffer_printf(b, "Useful completions are not known: %s.",
                          !strcmp(report_string(p, "arrivals_seen_by"), "server")
                              ? "no client says which answers arrived"
                              : "no answer was checked");
        if (lacks_limits(p)) buffer_puts(b, " The objective states no limit.");
        if (rests_on_few(p)) buffer_puts(b, " A limit's percentile rests on too few requests.");
    } else if (count_verdicts(tree, NULL) == 0) {
        buffer_puts(b, "Whether the objective is met is not known: every run is invalid.");
    } else if (count_verdicts(tree, "not_computable") > 0) {
        buffer_puts(b, "Whether the objective is met is not computable: the runs lack something "
                       "that it asks for.");
    } else {
        buffer_puts(b, "No operating point meets the objective.");
    }
    if (pace[0])
        buffer_printf(b, " All times are paced: %s, simulated.", pace);
    else if (!strcmp(report_string(first, "times"), "simulated"))
        buffer_puts(b, " All times are simulated.");
}

static void add_counts(struct buffer *b, const cJSON *point, report_fact_fn *each) {
    char text[600];
    size_t n = (size_t)snprintf(
        text, sizeof text, "%.0f requests in %.0f attempts; %.0f completed, %.0f failed",
        report_number(point, "counts.requests"), report_number(point, "counts.attempts"),
        report_number(point, "counts.completed"), report_number(point, "counts.failed"));
    const cJSON *reason;
    cJSON_ArrayForEach(reason, report_at(point, "counts.by_reason")) {
        bool shown = reason->valuedouble > 0 && strcmp(reason->string, "delivered") != 0;
        if (shown && n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "; %s %.0f", reason->string,
                                  reason->valuedouble);
    }
    each(b, "requests", text);
    snprintf(text, sizeof text, "%.0f passed, %.0f failed, %.0f not evaluated",
             report_number(point, "counts.quality.passed"),
             report_number(point, "counts.quality.failed"),
             report_number(point, "counts.quality.not_evaluated"));
    each(b, "answers", text);
}

static void add_resource(struct buffer *b, const cJSON *tree, const cJSON *point,
                         report_fact_fn *each) {
    char text[600], value[REPORT_CELL], idle[REPORT_CELL];
    const char *why = report_string(point, "resource.not_computable");
    double provisioned = report_number(point, "resource.accelerators_provisioned");
    if (why[0])
        snprintf(text, sizeof text, "%.400s", why);
    else
        snprintf(text, sizeof text, "%s useful completions per %s",
                 report_value(value, report_number(point, "resource.useful_per_unit")),
                 report_string(tree, "objective.resource.primary"));
    each(b, "value", text);
    if (!isfinite(provisioned)) return;
    snprintf(text, sizeof text,
             "%.4g accelerators provisioned for %.4g used (reserve %g %%); idle share of the "
             "provisioned time: %s",
             provisioned, report_number(point, "resource.accelerators_used"),
             100 * report_number(point, "resource.reserve_fraction"),
             report_value(idle, report_number(point, "resource.idle_fraction")));
    each(b, "resource", text);
}

static void add_diagnostics(struct buffer *b, const cJSON *point, report_fact_fn *each) {
    const cJSON *d = report_at(point, "diagnostics");
    char text[300], mean[REPORT_CELL];
    if (!cJSON_IsObject(d)) return;
    snprintf(text, sizeof text,
             "%.0f engine steps, busy %.3f s; %s sequences in the mean step; %.0f prompt and %.0f "
             "answer tokens computed",
             report_number(d, "engine_steps"), report_number(d, "engine_busy_s"),
             report_value(mean, report_number(d, "mean_batch_sequences")),
             report_number(d, "prefill_tokens"), report_number(d, "decode_tokens"));
    each(b, "diagnostics, no part of the objective", text);
}

void report_facts(struct buffer *b, const cJSON *tree, const cJSON *point, report_fact_fn *each) {
    const cJSON *part, *reason;
    char label[REPORT_CELL];
    cJSON_ArrayForEach(reason, report_at(point, "run_invalid_reasons")) if (cJSON_IsString(reason))
        each(b, "the run is invalid", reason->valuestring);
    cJSON_ArrayForEach(part, report_at(point, "parts")) {
        snprintf(label, sizeof label, "%s: %s", report_string(part, "part"),
                 report_string(part, "answer"));
        each(b, label, report_string(part, "text"));
    }
    add_counts(b, point, each);
    add_resource(b, tree, point, each);
    add_diagnostics(b, point, each);
}

/* Without a number, why there is none. */
static void add_goodput(struct buffer *b, const char *label, const char *definition, double v,
                        const char *why, report_fact_fn *each) {
    char text[500], value[REPORT_CELL];
    if (isfinite(v))
        snprintf(text, sizeof text, "%s. Definition: %s", report_value(value, v), definition);
    else
        snprintf(text, sizeof text, "not computable: %s. Definition: %s", why, definition);
    each(b, label, text);
}

void report_goodput(struct buffer *b, const cJSON *tree, report_fact_fn *each) {
    static const char none[] = "no valid run has it";
    char label[REPORT_CELL];
    const cJSON *good = report_at(tree, "goodput.good_requests_per_second");
    const cJSON *rate = report_at(tree, "goodput.rate_at_attainment");
    add_goodput(b, "good requests per second", report_string(good, "definition"),
                report_number(good, "rps"), none, each);
    snprintf(label, sizeof label, "rate per accelerator at %g %% attainment",
             100 * report_number(rate, "attainment"));
    add_goodput(b, label, report_string(rate, "definition"),
                report_number(rate, "rps_per_accelerator"),
                isfinite(report_number(rate, "point"))
                    ? "the objective doesn't state how many accelerators there are"
                    : none,
                each);
}
