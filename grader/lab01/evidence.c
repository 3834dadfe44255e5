/* evidence.c: examines lab 01's data files, record.json and objective.json, as the handout's
 * section "Your two data files" describes them. Strict, bounded readers read them in the grader's
 * process. The record's intervals are computed here by subtraction, with no code of a learner or of
 * the reference. */
#include "lab01/lab01.h"

#include "core/collect.h"
#include "core/evidence_choice.h"

#include "base/json.h"
#include "base/lab_todo.h"
#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROMPT_TOKENS = 2048 };

static void lost_because(struct evidence *out, const struct err *e, const char *file);
static void lost(struct evidence *out, const char *fmt, ...);
static void examine_record(const char *which, const cJSON *doc, struct evidence *out);
static void examine_objective(const char *which, const cJSON *doc, struct evidence *out);

void lab01_examine(const struct check_def *def, const char *folder, struct evidence *out) {
    char where[160];
    size_t n = 0;
    struct err e;
    char *text = collect_read(folder, def->file, COLLECT_MAX_DATA_BYTES, &n);
    const char *which = def->id + strlen("evidence.");
    if (!text) {
        out->outcome = OUTCOME_GRADER_FAULT;
        snprintf(out->message, sizeof out->message, "%s was there and can't be read", def->file);
        return;
    }
    cJSON *doc = json_parse(text, n, 1, &e);
    free(text);
    if (!doc) {
        lost_because(out, &e, def->file);
    } else if (lab_todo_find(doc, where, sizeof where)) {
        out->todo = true;
        out->outcome = OUTCOME_NOT_RUN;
        lost(out, "%s still has a \"TODO\" at %s", def->file, where);
        out->outcome = OUTCOME_NOT_RUN;
    } else if (!strcmp(def->file, "record.json")) {
        examine_record(which, doc, out);
    } else {
        examine_objective(which, doc, out);
    }
    cJSON_Delete(doc);
}

static void lost(struct evidence *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void lost(struct evidence *out, const char *fmt, ...) {
    char text[sizeof out->message];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    out->outcome = OUTCOME_LOST;
    text_clean(out->message, sizeof out->message, text, strlen(text));
}

static void lost_because(struct evidence *out, const struct err *e, const char *file) {
    char text[600];
    lost(out, "%s", err_format(e, file, text, sizeof text));
}

/* ---- record.json ----------------------------------------------------------------------------- */

static const enum event_kind six[] = {EV_REQUEST_SUBMITTED,   EV_REQUEST_ACCEPTED,
                                      EV_REQUEST_ADMITTED,    EV_FIRST_TOKEN,
                                      EV_FIRST_BYTE_RECEIVED, EV_FINAL_BYTE_RECEIVED};

/* An answer that came, with its six events. */
static void check_came(const struct record *r, struct evidence *out) {
    if (!r->outcome.delivered) {
        lost(out,
             "record.json: outcome.delivered is false; this exercise wants an answer that came");
        return;
    }
    for (size_t i = 0; i < sizeof six / sizeof *six; i++)
        if (!record_event(r, six[i])) {
            lost(out, "record.json: events: %s is missing", event_name(six[i]));
            return;
        }
    out->outcome = OUTCOME_EARNED;
}

static bool was_ended(const char *finish_reason) {
    static const char *const reasons[] = {"abort", "cancel", "error", "fail", "timeout", "timed"};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (!strncmp(finish_reason, reasons[i], strlen(reasons[i]))) return true;
    return false;
}

static void check_valid(const struct record *r, struct evidence *out) {
    check_came(r, out);
    if (out->outcome != OUTCOME_EARNED) return;
    if (r->outcome.http_status == 0)
        lost(out, "record.json: outcome.http_status is null; an answer that came has status 200");
    else if (r->outcome.http_status != 200)
        lost(out, "record.json: outcome.http_status is %d; an answer that came has status 200",
             r->outcome.http_status);
    else if (r->outcome.error[0])
        lost(out,
             "record.json: outcome.error is \"%.60s\": an answer with an error in it didn't come "
             "whole (M15)",
             r->outcome.error);
    else if (!r->outcome.finish_reason[0])
        lost(out, "record.json: outcome.finish_reason is null: how do you know that the answer was "
                  "whole? (M15)");
    else if (was_ended(r->outcome.finish_reason))
        lost(out,
             "record.json: outcome.finish_reason is \"%.40s\": such an answer isn't whole (M15)",
             r->outcome.finish_reason);
}

static bool on_browser(enum event_kind kind) {
    return kind == EV_REQUEST_SUBMITTED || kind == EV_FIRST_BYTE_RECEIVED ||
           kind == EV_FINAL_BYTE_RECEIVED;
}

/* end - start of two of the six events, both known to exist and on one clock. */
static int64_t span(const struct record *r, enum event_kind start, enum event_kind end) {
    return record_event(r, end)->t_ns - record_event(r, start)->t_ns;
}

/* Bounds that no request of this exercise can pass, so that a time in another unit shows. The
 * smallest model in use has 135 million parameters and 30 layers. */
static const struct {
    const char *what;
    int64_t least_ns, most_ns;
    const char *least_because;
} plausible[] = {
    {"client_ttft", 500000, INT64_C(600000000000),
     "2,048 tokens through 135 million parameters are 5.5e11 operations, 0.5 ms on the fastest "
     "accelerator"},
    {"server_ttft", 500000, INT64_C(600000000000),
     "2,048 tokens through 135 million parameters are 5.5e11 operations, 0.5 ms on the fastest "
     "accelerator"},
    {"the time of one token after the first", 100000, INT64_C(60000000000),
     "30 layers of two kernels, one after the other, take 0.1 ms at the least"},
};

/* Whether all times are plausible if they are in a unit of this many nanoseconds. */
static bool plausible_in(const int64_t t[3], int64_t unit_ns) {
    for (int i = 0; i < 3; i++)
        if (t[i] >= 0 && (t[i] < (plausible[i].least_ns + unit_ns - 1) / unit_ns ||
                          t[i] > plausible[i].most_ns / unit_ns))
            return false;
    return true;
}

static const char *likely_unit(const int64_t t[3]) {
    bool us = plausible_in(t, 1000), ms = plausible_in(t, 1000000);
    return us == ms ? "milliseconds or microseconds" : us ? "microseconds" : "milliseconds";
}

static bool check_bounds(const int64_t ns[3], struct evidence *out) {
    for (int i = 0; i < 3; i++) {
        const char *what = plausible[i].what;
        if (ns[i] >= 0 && ns[i] < plausible[i].least_ns)
            lost(out,
                 "record.json: %s is %lld ns, and can't be: %s. t_ns is in nanoseconds; are these "
                 "%s?",
                 what, (long long)ns[i], plausible[i].least_because, likely_unit(ns));
        else if (ns[i] > plausible[i].most_ns)
            lost(out,
                 "record.json: %s is %lld ns, over %lld s: no client waits that long. t_ns is in "
                 "nanoseconds; was it multiplied once too often?",
                 what, (long long)ns[i], (long long)(plausible[i].most_ns / 1000000000));
        else
            continue;
        return false;
    }
    return true;
}

/* The network and the page take a part of the wait, never 999 of 1,000 parts: then the clocks have
 * two units. The prefill takes what those of the 2,048 tokens take that were not cached. */
static bool check_parts(const struct record *r, int64_t client, int64_t server, int64_t prefill,
                        struct evidence *out) {
    int64_t cached = r->workload.cached_prompt_tokens > 0 ? r->workload.cached_prompt_tokens : 0;
    if (client / 1000 >= server)
        lost(out,
             "record.json: server_ttft is %lld ns and client_ttft %lld ns, 1,000 times as long. "
             "t_ns is in nanoseconds on both clocks; are the server's in microseconds?",
             (long long)server, (long long)client);
    else if (prefill * PROMPT_TOKENS < plausible[1].least_ns * (PROMPT_TOKENS - cached))
        lost(out,
             "record.json: first_token is %lld ns after request_admitted; in between lies the "
             "prefill: %s",
             (long long)prefill, plausible[1].least_because);
    else
        return true;
    return false;
}

static void check_plausible(const struct record *r, struct evidence *out) {
    check_came(r, out);
    if (out->outcome != OUTCOME_EARNED) return;
    for (size_t i = 0; i < sizeof six / sizeof *six; i++) {
        enum clock_id want = on_browser(six[i]) ? CLOCK_BROWSER : CLOCK_SERVER;
        if (record_event(r, six[i])->clock != want) {
            lost(out, "record.json: %s belongs on the clock \"%s\"", event_name(six[i]),
                 clock_name(want));
            return;
        }
    }
    int64_t client = span(r, EV_REQUEST_SUBMITTED, EV_FIRST_BYTE_RECEIVED);
    int64_t server = span(r, EV_REQUEST_ACCEPTED, EV_FIRST_TOKEN);
    int64_t e2e = span(r, EV_REQUEST_SUBMITTED, EV_FINAL_BYTE_RECEIVED);
    int64_t queue = span(r, EV_REQUEST_ACCEPTED, EV_REQUEST_ADMITTED);
    int64_t steps = (int64_t)r->workload.output_tokens - 1;
    if (client > 0 && server >= 0 && e2e >= client &&
        !check_bounds((const int64_t[3]){client, server, steps > 0 ? (e2e - client) / steps : -1},
                      out))
        return;
    if (queue < 0 || server < queue || client <= 0)
        lost(out, "record.json: the events of one clock are not in the order in which they happen");
    else if (client < server)
        lost(out,
             "record.json: client_ttft (%lld ns) is shorter than server_ttft (%lld ns): the person "
             "would have seen the answer before the server had it",
             (long long)client, (long long)server);
    else if (e2e < client)
        lost(out, "record.json: e2e is shorter than client_ttft");
    else
        check_parts(r, client, server, server - queue, out);
}

static void check_tokens(const struct record *r, struct evidence *out) {
    int32_t prompt = r->workload.prompt_tokens, max = r->workload.max_output_tokens;
    int32_t came = r->workload.output_tokens, cached = r->workload.cached_prompt_tokens;
    out->outcome = OUTCOME_EARNED;
    if (!r->workload.model[0])
        lost(out, "record.json: workload.model is missing: whose 2,048 tokens are these?");
    else if (prompt != PROMPT_TOKENS)
        lost(out, "record.json: workload.prompt_tokens is %d; the exercise asks for exactly 2,048",
             prompt);
    else if (came < 0)
        lost(out, "record.json: workload.output_tokens is null: how many tokens came?");
    else if (max < 0)
        lost(out, "record.json: workload.max_output_tokens is null: how many tokens were asked for "
                  "at most?");
    else if (came < 1 || came > max)
        lost(out,
             "record.json: workload.output_tokens is %d; it must be at least 1 and no more than "
             "max_output_tokens (%d)",
             came, max);
    else if (cached >= PROMPT_TOKENS)
        lost(
            out,
            "record.json: workload.cached_prompt_tokens is %d of 2,048; at least the last token of "
            "a prompt is computed, since the answer begins with its result",
            cached);
}

static bool fitting_source(const struct event *ev) {
    if (on_browser(ev->kind)) return ev->source == SRC_BROWSER || ev->source == SRC_CLIENT;
    return ev->source == SRC_SERVER_LOG ||
           (ev->kind == EV_REQUEST_ADMITTED && ev->source == SRC_SCHEDULER_LOG);
}

/* The calls and clocks of common languages that never jump, as parts of their names. */
static bool reads_a_monotonic_clock(const char *api) {
    static const char *const parts[] = {"performance",        "monotonic", "steady_clock",
                                        "perf_counter",       "hrtime",    "nanotime",
                                        "performancecounter", "instant",   "mach_absolute_time",
                                        "boottime",           "uptime",    "rdtsc"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcasestr(api, parts[i])) return true;
    return false;
}

/* A page can't call clock_gettime, and a server has no performance.now. */
static bool fitting_api(const struct event *ev) {
    if (ev->source == SRC_CLIENT) return true;
    return ev->source == SRC_BROWSER ? !strstr(ev->clock_api, "CLOCK_")
                                     : strncmp(ev->clock_api, "performance", 11) != 0;
}

/* A clock of nanoseconds that gave three whole milliseconds: one case in 10^18. */
static bool whole_ms(const struct record *r) {
    for (size_t i = 0; i < sizeof six / sizeof *six; i++)
        if (!on_browser(six[i]) && record_event(r, six[i])->t_ns % 1000000 != 0) return false;
    return true;
}

static void check_annotated(const struct record *r, const cJSON *doc, struct evidence *out) {
    const cJSON *from = cJSON_GetObjectItemCaseSensitive(doc, "provenance");
    out->outcome = OUTCOME_EARNED;
    for (size_t i = 0; i < sizeof six / sizeof *six; i++) {
        const struct event *ev = record_event(r, six[i]);
        if (!ev)
            lost(out, "record.json: events: %s is missing", event_name(six[i]));
        else if (!fitting_source(ev))
            lost(out, "record.json: %s can't have been observed by \"%s\"; the handout has a table",
                 event_name(six[i]), source_name(ev->source));
        else if (!reads_a_monotonic_clock(ev->clock_api))
            lost(out,
                 "record.json: %s: clock_api \"%.40s\" is no call that reads a monotonic clock, "
                 "such "
                 "as performance.now (a page) or CLOCK_MONOTONIC (a server)",
                 event_name(six[i]), ev->clock_api);
        else if (!fitting_api(ev))
            lost(out, "record.json: %s was observed by \"%s\", which can't read the clock with %s",
                 event_name(six[i]), source_name(ev->source), ev->clock_api);
        else
            continue;
        return;
    }
    if (!cJSON_IsString(from) ||
        (strcmp(from->valuestring, "captured") != 0 && strcmp(from->valuestring, "authored") != 0))
        lost(out, "record.json: provenance must be \"captured\" or \"authored\"");
    else if (!strcmp(from->valuestring, "captured") && whole_ms(r))
        lost(out, "record.json: provenance is \"captured\", and each time of the server is a whole "
                  "millisecond: a clock doesn't give such times. Write \"authored\"");
    else if (!r->quality.check[0] || r->quality.verdict == VERDICT_NOT_REQUIRED)
        lost(out, "record.json: quality must name its check, and its verdict");
}

static void check_statement(const struct record *r, struct evidence *out) {
    out->outcome = OUTCOME_EARNED;
    if (!strstr(r->statement, "client_ttft") && !strstr(r->statement, "e2e"))
        lost(out,
             "record.json: statement must name the interval that the person experienced, by its "
             "name");
    else if (strlen(r->statement) < 25 || evidence_words(r->statement) < EVIDENCE_SENTENCE_WORDS)
        lost(out, "record.json: statement is to be a sentence");
}

static void examine_record(const char *which, const cJSON *doc, struct evidence *out) {
    struct record r;
    struct err e;
    record_init(&r);
    if (record_from_json(&r, doc, 0, &e)) {
        if (!strcmp(which, "record_valid")) {
            lost_because(out, &e, "record.json");
        } else {
            out->outcome = OUTCOME_NOT_RUN;
            snprintf(out->message, sizeof out->message,
                     "record.json must be a valid record first (evidence.record_valid)");
        }
        return;
    }
    if (!strcmp(which, "record_valid"))
        check_valid(&r, out);
    else if (!strcmp(which, "record_plausible"))
        check_plausible(&r, out);
    else if (!strcmp(which, "record_tokens"))
        check_tokens(&r, out);
    else if (!strcmp(which, "record_annotated"))
        check_annotated(&r, doc, out);
    else
        check_statement(&r, out);
    record_release(&r);
}

/* ---- objective.json: the memo of exercise 3 -------------------------------------------------- */

/* The numbers of the memo. The limits are strict (below), and both are for p99 over the population.
 */
static const struct {
    const char *interval;
    enum interval_id id;
    double below_ms, measured_ms;
} memo[] = {{"client_ttft", IV_CLIENT_TTFT, 800, 1400}, {"tpot", IV_TPOT, 80, 170}};
static const double memo_tokens_per_s = 420, memo_reserve = 0.35, memo_accelerators = 1;

enum { N_LIMITS = 2 };

static const cJSON *at(const cJSON *o, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(o, key);
}

static bool is_number(const cJSON *v, double want, double tolerance) {
    return cJSON_IsNumber(v) && fabs(v->valuedouble - want) <= tolerance;
}

static bool is_text(const cJSON *v, const char *want) {
    return cJSON_IsString(v) && !strcmp(v->valuestring, want);
}

/* The entry of `list` with this interval, in any position. */
static const cJSON *entry(const cJSON *list, const char *interval) {
    const cJSON *e;
    cJSON_ArrayForEach(e, list) if (is_text(at(e, "interval"), interval)) return e;
    return NULL;
}

static void check_objective(const cJSON *doc, struct evidence *out) {
    struct objective o;
    struct err e;
    if (objective_from_json(&o, at(doc, "objective"), &e)) {
        lost_because(out, &e, "objective.json");
        return;
    }
    objective_release(&o);
    out->outcome = OUTCOME_EARNED;
}

static bool has_limit(const struct objective *o, int i) {
    for (int32_t k = 0; k < o->n_latency; k++) {
        const struct latency_limit *l = &o->latency[k];
        if (l->interval == memo[i].id && l->scope == SCOPE_POPULATION &&
            l->percentile_milli == 99000 && l->below_ns == (int64_t)(memo[i].below_ms * 1e6))
            return true;
    }
    return false;
}

static void check_resource(const struct objective *o, struct evidence *out) {
    if (strcmp(o->resource.primary, "usd") != 0 || o->resource.accelerators != memo_accelerators ||
        fabs(o->resource.reserve_fraction - memo_reserve) > 1e-9)
        lost(out,
             "objective.json: objective.resource: money, one accelerator and the memo's reserve");
    else if (!isnan(o->resource.usd_per_accelerator_hour))
        lost(
            out,
            "objective.json: objective.resource.usd_per_accelerator_hour: the memo gives no price");
    else if (fabs(o->quality.min_pass_rate - 0.95) > 1e-9 ||
             strcmp(o->quality.check, "key-recall/1") != 0)
        lost(out,
             "objective.json: objective.quality: the check and the rate that the exercise states");
}

static void check_limits(const cJSON *doc, struct evidence *out) {
    const cJSON *measured = at(doc, "measured");
    struct objective o;
    struct err e;
    if (objective_from_json(&o, at(doc, "objective"), &e)) {
        out->outcome = OUTCOME_NOT_RUN;
        snprintf(out->message, sizeof out->message,
                 "objective.json must hold a valid objective first (evidence.objective_valid)");
        return;
    }
    out->outcome = OUTCOME_EARNED;
    if (cJSON_GetArraySize(at(measured, "latency")) != N_LIMITS)
        lost(out, "objective.json: measured.latency: the memo measured two percentiles");
    for (int i = 0; i < N_LIMITS && out->outcome == OUTCOME_EARNED; i++) {
        const cJSON *m = entry(at(measured, "latency"), memo[i].interval);
        if (o.n_latency != N_LIMITS || !has_limit(&o, i))
            lost(out,
                 "objective.json: objective.latency: one of the two limits isn't the one that the "
                 "product asks for (interval, percentile, below_ms, scope)");
        else if (!m || !is_number(at(m, "percentile"), 99, 0) ||
                 !is_number(at(m, "ms"), memo[i].measured_ms, 1e-6))
            lost(out,
                 "objective.json: measured.latency: one of the two isn't what the memo measured");
    }
    if (out->outcome == OUTCOME_EARNED) check_resource(&o, out);
    objective_release(&o);
    if (out->outcome != OUTCOME_EARNED) return;
    if (!is_number(at(measured, "output_tokens_per_s"), memo_tokens_per_s, 1e-9))
        lost(out, "objective.json: measured.output_tokens_per_s: what does the memo claim?");
    else if (!cJSON_IsNull(at(measured, "useful_responses")) ||
             !cJSON_IsNull(at(measured, "interval_s")))
        lost(out, "objective.json: measured: what the memo doesn't say stays null");
}

/* The unit of the number that ends at `at`, in ms; 0: none, or none of time. */
static double unit_ms(const char *at) {
    static const struct {
        const char *text;
        double ms;
    } units[] = {{"ms", 1},    {"milli", 1},   {"us", 1e-3},  {"\302\265s", 1e-3}, {"micro", 1e-3},
                 {"ns", 1e-6}, {"nano", 1e-6}, {"sec", 1000}, {"s", 1000}};
    while (strchr(" -", *at) || !strncmp(at, "\302\240", 2) || !strncmp(at, "\342\200\257", 3)) {
        if (!*at) return 0;
        at += *at == '\302' ? 2 : *at == '\342' ? 3 : 1; /* blanks that keep a line together */
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t n = strlen(units[i].text);
        bool whole = n > 2 || !(at[n] >= 'a' && at[n] <= 'z');
        if (!strncmp(at, units[i].text, n) && whole) return units[i].ms;
    }
    return 0;
}

/* A reason has two numbers. Whether this text contains `n` ms as a separate number, in its own unit
 * or without one. */
static bool holds_number(const char *text, double n) {
    for (const char *p = text; *p;) {
        char *end;
        if (*p < '0' || *p > '9') {
            p++;
            continue;
        }
        double v = strtod(p, &end);
        if (*end == ',' && end[1] >= '0' && end[1] <= '9') /* 1,400 */
            v = v * 1000 + strtod(end + 1, &end);
        double unit = unit_ms(end);
        if (unit != 0 ? fabs(v * unit - n) < 1e-6 : fabs(v - n) < 1e-9 || fabs(v * 1000 - n) < 1e-6)
            return true;
        p = end;
    }
    return false;
}

/* Whether a number of the text has the unit ms or s, also in words ("800 milliseconds"). */
static bool has_unit(const char *text) {
    for (const char *p = text; (p = strpbrk(p, "0123456789")); p++)
        if (unit_ms(p + strspn(p, "0123456789.,")) >= 1) return true;
    return false;
}

/* Who lists all numbers names none. */
static bool holds_few_numbers(const char *text) {
    enum { MOST = 12 };
    int n = 0;
    for (const char *p = text; *p;) {
        size_t digits = strspn(p, "0123456789.,");
        n += *p >= '0' && *p <= '9';
        p += digits ? digits : 1;
    }
    return n <= MOST;
}

static void check_latency_verdicts(const cJSON *verdict, struct evidence *out) {
    if (cJSON_GetArraySize(at(verdict, "latency")) != N_LIMITS)
        lost(out, "objective.json: verdict.latency: one entry for each of the two limits");
    for (int i = 0; i < N_LIMITS && out->outcome == OUTCOME_EARNED; i++) {
        const cJSON *v = entry(at(verdict, "latency"), memo[i].interval);
        const cJSON *reason = at(v, "reason");
        if (!is_text(at(v, "answer"), "missed"))
            lost(out,
                 "objective.json: verdict.latency: the answer for one of the limits isn't the one "
                 "that its numbers give");
        else if (cJSON_IsString(reason) && !holds_few_numbers(reason->valuestring))
            lost(out,
                 "objective.json: verdict.latency: the reason for %s holds more than 12 numbers; "
                 "give the two that decide",
                 memo[i].interval);
        else if (!cJSON_IsString(reason) ||
                 !holds_number(reason->valuestring, memo[i].measured_ms) ||
                 !holds_number(reason->valuestring, memo[i].below_ms) ||
                 !has_unit(reason->valuestring))
            lost(
                out,
                "objective.json: verdict.latency: the reason for %s must hold the two numbers that "
                "decide, with their units (ms or s)",
                memo[i].interval);
    }
}

/* Which members the value needs and the memo does not give. A value per dollar can also be computed
 * from a rate of successes, without the length of the interval. So naming interval_s is right, and
 * not naming it isn't a mistake. */
static bool right_missing(const cJSON *list) {
    bool count = false, price = false, wrong = !cJSON_IsArray(list);
    const cJSON *m;
    cJSON_ArrayForEach(m, list) {
        if (is_text(m, "useful_responses"))
            count = true;
        else if (is_text(m, "usd_per_accelerator_hour"))
            price = true;
        else if (!is_text(m, "interval_s"))
            wrong = true;
    }
    return count && price && !wrong;
}

static bool has_reason(const cJSON *o) {
    const cJSON *r = at(o, "reason");
    return cJSON_IsString(r) && strlen(r->valuestring) >= 10 &&
           evidence_words(r->valuestring) >= EVIDENCE_SENTENCE_WORDS;
}

static void check_verdict(const cJSON *doc, struct evidence *out) {
    const cJSON *verdict = at(doc, "verdict"), *value = at(verdict, "objective_value");
    const cJSON *overall = at(verdict, "overall");
    out->outcome = OUTCOME_EARNED;
    check_latency_verdicts(verdict, out);
    if (out->outcome != OUTCOME_EARNED) return;
    if (!is_number(at(verdict, "provisioned_accelerators"), memo_accelerators / (1 - memo_reserve),
                   0.0006))
        lost(out,
             "objective.json: verdict.provisioned_accelerators: used / (1 - reserve), to three "
             "decimals");
    else if (!is_text(at(value, "answer"), "not_computable") ||
             !right_missing(at(value, "missing")))
        lost(
            out,
            "objective.json: verdict.objective_value: its answer, and what is missing (the members "
            "that the value needs and the memo doesn't give)");
    else if (!is_text(at(overall, "answer"), "missed"))
        lost(out, "objective.json: verdict.overall: what follows from the parts?");
    else if (!has_reason(value) || !has_reason(overall))
        lost(out, "objective.json: verdict: a reason is missing, or is no sentence");
}

/* Exercise 4: the two servers of the handout's table. One hour of a server costs its provisioned
 * accelerators, reserve included, whether they are busy or idle. */
static const struct choice_number purchase_numbers[] = {
    {"output_tokens_per_s",
     {4200.0 / 60, 2400.0 / 60},
     "all tokens that came, in the 60 s of the run",
     {{{2400.0 / 60, 2100.0 / 60}, "only the tokens of useful answers are counted"},
      {{4200.0 / 58, 2400.0 / 41}, "the tokens are divided by the busy time"}}},
    {"useful_responses",
     {3, 7},
     "useful is completed, and passed by the check",
     {{{5, 8}, "wrong answers count as useful"},
      {{6, 8}, "every answer that came is counted"},
      {{8, 8}, "all requests are counted"}}},
    {"useful_per_usd",
     {22.5, 105},
     "useful answers over what the provisioned accelerators cost in 60 s",
     {{{45, 140}, "the reserve isn't paid for"},
      {{22.5 * 60 / 58, 105 * 60.0 / 41}, "idle time isn't paid for"},
      {{37.5, 120}, "wrong answers count as useful"}}},
};
static const struct choice purchase = {"buy", "b", purchase_numbers, 3};

static void check_purchase(const cJSON *doc, struct evidence *out) {
    struct err e;
    out->outcome = OUTCOME_EARNED;
    if (evidence_choice(at(doc, "purchase"), "purchase", &purchase, &e))
        lost_because(out, &e, "objective.json");
}

static void examine_objective(const char *which, const cJSON *doc, struct evidence *out) {
    if (!is_text(at(doc, "schema"), OBJECTIVE_ANSWER_SCHEMA))
        lost(out, "objective.json: schema must be \"%s\"", OBJECTIVE_ANSWER_SCHEMA);
    else if (!strcmp(which, "objective_valid"))
        check_objective(doc, out);
    else if (!strcmp(which, "objective_limits"))
        check_limits(doc, out);
    else if (!strcmp(which, "purchase"))
        check_purchase(doc, out);
    else
        check_verdict(doc, out);
}
