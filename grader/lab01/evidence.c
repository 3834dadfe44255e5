/* evidence.c: examines lab 01's data files as the handout's section "Your two data files" describes
 * them: record.json here, objective.json in evidence_objective.c. Strict, bounded readers read them
 * in the grader's process. The record's intervals are computed here by subtraction, with no code of
 * a learner or of the reference. */
#include "lab01/evidence.h"
#include "lab01/lab01.h"

#include "core/collect.h"

#include "base/json.h"
#include "base/lab_todo.h"
#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROMPT_TOKENS = 2048 };
/* Four times what the page and the built-in client ask for. */
enum { MOST_OUTPUT_TOKENS = 1024 };

static void examine_record(const char *which, const cJSON *doc, struct evidence *out);

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
        lab01_lost_because(out, &e, def->file);
    } else if (lab_todo_find(doc, where, sizeof where)) {
        out->todo = true;
        out->outcome = OUTCOME_NOT_RUN;
        lab01_lost(out, "%s still has a \"TODO\" at %s", def->file, where);
        out->outcome = OUTCOME_NOT_RUN;
    } else if (!strcmp(def->file, "record.json")) {
        examine_record(which, doc, out);
    } else {
        lab01_examine_objective(which, doc, out);
    }
    cJSON_Delete(doc);
}

void lab01_lost(struct evidence *out, const char *fmt, ...) {
    char text[sizeof out->message];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    out->outcome = OUTCOME_LOST;
    text_clean(out->message, sizeof out->message, text, strlen(text));
}

void lab01_lost_because(struct evidence *out, const struct err *e, const char *file) {
    char text[600];
    lab01_lost(out, "%s", err_format(e, file, text, sizeof text));
}

/* ---- record.json ----------------------------------------------------------------------------- */

static const enum event_kind six[] = {EV_REQUEST_SUBMITTED,   EV_REQUEST_ACCEPTED,
                                      EV_REQUEST_ADMITTED,    EV_FIRST_TOKEN,
                                      EV_FIRST_BYTE_RECEIVED, EV_FINAL_BYTE_RECEIVED};

/* An answer that came, with its six events. */
static void check_came(const struct record *r, struct evidence *out) {
    if (!r->outcome.delivered) {
        lab01_lost(
            out,
            "record.json: outcome.delivered is false; this exercise wants an answer that came");
        return;
    }
    for (size_t i = 0; i < sizeof six / sizeof *six; i++)
        if (!record_event(r, six[i])) {
            lab01_lost(out, "record.json: events: %s is missing", event_name(six[i]));
            return;
        }
    out->outcome = OUTCOME_EARNED;
}

/* The reasons of an answer that came to its end: those of the server and of its API, which other
 * servers keep to. */
static bool is_an_end(const char *finish_reason) {
    static const char *const reasons[] = {"stop", "length", "tool_calls", "function_call"};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (!strcmp(finish_reason, reasons[i])) return true;
    return false;
}

static void check_valid(const struct record *r, struct evidence *out) {
    check_came(r, out);
    if (out->outcome != OUTCOME_EARNED) return;
    if (r->outcome.http_status == 0)
        lab01_lost(out,
                   "record.json: outcome.http_status is null; an answer that came has status 200");
    else if (r->outcome.http_status != 200)
        lab01_lost(out,
                   "record.json: outcome.http_status is %d; an answer that came has status 200",
                   r->outcome.http_status);
    else if (r->outcome.error[0])
        lab01_lost(
            out,
            "record.json: outcome.error is \"%.60s\": an answer with an error in it didn't come "
            "whole (M15)",
            r->outcome.error);
    else if (!r->outcome.finish_reason[0])
        lab01_lost(
            out, "record.json: outcome.finish_reason is null: how do you know that the answer was "
                 "whole? (M15)");
    else if (!is_an_end(r->outcome.finish_reason))
        lab01_lost(
            out,
            "record.json: outcome.finish_reason is \"%.40s\": an answer that is whole ends with "
            "\"stop\", \"length\" or \"tool_calls\" (M15)",
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
 * smallest published model in use has 135 million parameters and 30 layers. The embedded one has
 * 1.04 million and 4: its operations are 1 / 130 of these, its layers 4 / 30. */
struct least {
    int64_t prefill_ns, step_ns;
    const char *prefill_because, *step_because;
};
static const struct least least_published = {
    500000, 100000,
    "2,048 tokens through 135 million parameters are 5.5e11 operations, 0.5 ms on the fastest "
    "accelerator",
    "30 layers of two kernels, one after the other, take 0.1 ms at the least"};
static const struct least least_embedded = {
    3800, 13300,
    "2,048 tokens through 1.04 million parameters are 4.3e9 operations, 4 microseconds on the "
    "fastest accelerator",
    "4 layers of two kernels, one after the other, take 13 microseconds at the least"};

static const struct least *least_of(const struct record *r) {
    bool embedded = !strncmp(r->workload.model, "servelab-tiny", strlen("servelab-tiny"));
    return embedded ? &least_embedded : &least_published;
}

/* The least time of what isn't cached of the prompt, by its operations. */
static double least_prefill_ns(const struct record *r) {
    int32_t cached = r->workload.cached_prompt_tokens > 0 ? r->workload.cached_prompt_tokens : 0;
    return (double)least_of(r)->prefill_ns * (PROMPT_TOKENS - cached) / PROMPT_TOKENS;
}

/* client_ttft, server_ttft and the time of a token after the first, in ns; below 0: unknown. The
 * tokens after the first are made after server_ttft and come before e2e is over. A client may get
 * them all at once. */
struct bounded {
    const char *what, *least_because;
    double least_ns, most_ns;
    int64_t ns;
};
enum { N_BOUNDED = 3 };

/* A first token passes all layers, even if nearly the whole prompt was cached. */
static void bound(const struct record *r, const int64_t ns[N_BOUNDED],
                  struct bounded out[N_BOUNDED]) {
    static const char *const what[N_BOUNDED] = {"client_ttft", "server_ttft",
                                                "the time of one token after the first"};
    const struct least *least = least_of(r);
    double prefill = least_prefill_ns(r), step = (double)least->step_ns;
    for (int i = 0; i < N_BOUNDED; i++) {
        bool by_prefill = i < 2 && prefill > step;
        out[i] =
            (struct bounded){what[i], by_prefill ? least->prefill_because : least->step_because,
                             by_prefill ? prefill : step, i < 2 ? 600e9 : 60e9, ns[i]};
    }
}

/* Whether all times are plausible if they are in a unit of this many nanoseconds. */
static bool plausible_in(const struct bounded b[N_BOUNDED], double unit_ns) {
    for (int i = 0; i < N_BOUNDED; i++) {
        double ns = (double)b[i].ns * unit_ns;
        if (b[i].ns >= 0 && (ns < b[i].least_ns || ns > b[i].most_ns)) return false;
    }
    return true;
}

static const char *likely_unit(const struct bounded b[N_BOUNDED]) {
    bool us = plausible_in(b, 1e3), ms = plausible_in(b, 1e6);
    return us == ms ? "milliseconds or microseconds" : us ? "microseconds" : "milliseconds";
}

static bool check_bounds(const struct record *r, const int64_t ns[N_BOUNDED],
                         struct evidence *out) {
    struct bounded b[N_BOUNDED];
    bound(r, ns, b);
    for (int i = 0; i < N_BOUNDED; i++) {
        if (b[i].ns >= 0 && (double)b[i].ns < b[i].least_ns)
            lab01_lost(
                out,
                "record.json: %s is %lld ns, and can't be: %s. t_ns is in nanoseconds; are these "
                "%s?",
                b[i].what, (long long)ns[i], b[i].least_because, likely_unit(b));
        else if ((double)b[i].ns > b[i].most_ns)
            lab01_lost(
                out,
                "record.json: %s is %lld ns, over %.0f s: no client waits that long. t_ns is in "
                "nanoseconds; was it multiplied once too often?",
                b[i].what, (long long)ns[i], b[i].most_ns / 1e9);
        else
            continue;
        return false;
    }
    return true;
}

/* Three round trips by a geostationary satellite, to connect and to ask, are 1.8 s. */
static const int64_t MOST_ON_THE_WAY_NS = 2000000000;
/* There and back through a kernel's network code, with a thread to wake at each end. */
static const int64_t LEAST_ON_THE_WAY_NS = 10000;
/* From here on a wait is no one's whose times are in microseconds. */
static const int64_t SHORT_WAIT_NS = 50000000;

/* The network and the page take a part of the wait, never 999 of 1,000 parts, and not 9 of 10 parts
 * of a wait of seconds: then the clocks have two units. (A page that gets the answer in one piece
 * waits for the last token, too.) Nor do they take next to nothing. (No time
 * at all may be authored.) The prefill takes what those of the 2,048 tokens take that were not
 * cached. */
static bool check_parts(const struct record *r, int64_t client, int64_t server, int64_t prefill,
                        struct evidence *out) {
    int64_t way = client - server;
    bool in_one_piece = span(r, EV_FIRST_BYTE_RECEIVED, EV_FINAL_BYTE_RECEIVED) < client / 20;
    if (client / 1000 >= server)
        lab01_lost(
            out,
            "record.json: server_ttft is %lld ns and client_ttft %lld ns, 1,000 times as long. "
            "t_ns is in nanoseconds on both clocks; are the server's in microseconds?",
            (long long)server, (long long)client);
    else if (client / 10 >= server && way > MOST_ON_THE_WAY_NS && !in_one_piece)
        lab01_lost(
            out,
            "record.json: server_ttft is %lld ns and client_ttft %lld ns: the way to the server "
            "and back doesn't take so much longer than the answer. Are the times of both clocks "
            "in nanoseconds?",
            (long long)server, (long long)client);
    else if (client < SHORT_WAIT_NS && way > 0 && way < LEAST_ON_THE_WAY_NS)
        lab01_lost(
            out,
            "record.json: client_ttft is only %lld ns longer than server_ttft: the way to the "
            "server and back takes 10 microseconds at the least. t_ns is in nanoseconds; are "
            "these microseconds?",
            (long long)way);
    else if ((double)prefill < least_prefill_ns(r))
        lab01_lost(
            out,
            "record.json: first_token is %lld ns after request_admitted; in between lies the "
            "prefill: %s",
            (long long)prefill, least_of(r)->prefill_because);
    else
        return true;
    return false;
}

/* A machine has at most 16 accelerators, and none takes 2,000 W: a request uses no more than all of
 * them do in its time. */
static bool check_resources(const struct record *r, int64_t e2e, struct evidence *out) {
    double most_s = 16 * (double)e2e / 1e9, most_joules = 2000 * most_s;
    if (r->resources.gpu_seconds > most_s)
        lab01_lost(
            out,
            "record.json: resources.gpu_seconds is %g; 16 GPUs have %g s in the e2e of %g s. Is "
            "it in another unit?",
            r->resources.gpu_seconds, most_s, (double)e2e / 1e9);
    else if (r->resources.joules > most_joules)
        lab01_lost(
            out,
            "record.json: resources.joules is %g; 16 GPUs of 2,000 W take %g J in the e2e of %g "
            "s. Is it in another unit?",
            r->resources.joules, most_joules, (double)e2e / 1e9);
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
            lab01_lost(out, "record.json: %s belongs on the clock \"%s\"", event_name(six[i]),
                       clock_name(want));
            return;
        }
    }
    int64_t client = span(r, EV_REQUEST_SUBMITTED, EV_FIRST_BYTE_RECEIVED);
    int64_t server = span(r, EV_REQUEST_ACCEPTED, EV_FIRST_TOKEN);
    int64_t e2e = span(r, EV_REQUEST_SUBMITTED, EV_FINAL_BYTE_RECEIVED);
    int64_t queue = span(r, EV_REQUEST_ACCEPTED, EV_REQUEST_ADMITTED);
    int64_t steps = (int64_t)r->workload.output_tokens - 1;
    int64_t flow = e2e > client ? e2e - server : 0; /* first and last byte stamped together */
    if (client > 0 && server >= 0 && e2e >= client &&
        !check_bounds(r, (const int64_t[N_BOUNDED]){client, server, steps > 0 ? flow / steps : -1},
                      out))
        return;
    if (queue < 0 || server < queue || client <= 0)
        lab01_lost(
            out, "record.json: the events of one clock are not in the order in which they happen");
    else if (client < server)
        lab01_lost(
            out,
            "record.json: client_ttft (%lld ns) is shorter than server_ttft (%lld ns): the person "
            "would have seen the answer before the server had it",
            (long long)client, (long long)server);
    else if (e2e < client)
        lab01_lost(out, "record.json: e2e is shorter than client_ttft");
    else if (check_parts(r, client, server, server - queue, out))
        check_resources(r, e2e, out);
}

static void check_tokens(const struct record *r, struct evidence *out) {
    int32_t prompt = r->workload.prompt_tokens, max = r->workload.max_output_tokens;
    int32_t came = r->workload.output_tokens, cached = r->workload.cached_prompt_tokens;
    out->outcome = OUTCOME_EARNED;
    if (!r->workload.model[0])
        lab01_lost(out, "record.json: workload.model is missing: whose 2,048 tokens are these?");
    else if (prompt != PROMPT_TOKENS)
        lab01_lost(out,
                   "record.json: workload.prompt_tokens is %d; the exercise asks for exactly 2,048",
                   prompt);
    else if (came < 0)
        lab01_lost(out, "record.json: workload.output_tokens is null: how many tokens came?");
    else if (max < 0)
        lab01_lost(
            out, "record.json: workload.max_output_tokens is null: how many tokens were asked for "
                 "at most?");
    else if (max > MOST_OUTPUT_TOKENS)
        lab01_lost(out,
                   "record.json: workload.max_output_tokens is %d; this exercise is about a chat's "
                   "answer, of at most 1,024 tokens",
                   max);
    else if (came < 1 || came > max)
        lab01_lost(
            out,
            "record.json: workload.output_tokens is %d; it must be at least 1 and no more than "
            "max_output_tokens (%d)",
            came, max);
    else if (cached >= PROMPT_TOKENS)
        lab01_lost(
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

/* The calls and clocks of common languages and systems that never jump, as parts of their names. */
static bool reads_a_monotonic_clock(const char *api) {
    static const char *const parts[] = {"performance",
                                        "monotonic",
                                        "steady_clock",
                                        "perf_counter",
                                        "hrtime",
                                        "nanotime",
                                        "instant",
                                        "performancecounter",
                                        "boottime",
                                        "uptime",
                                        "rdtsc",
                                        "cntvct",
                                        "mach_absolute_time",
                                        "tickcount",
                                        "ktime_get",
                                        "stopwatch",
                                        "continuousclock",
                                        "mach_continuous",
                                        "suspendingclock",
                                        "loop.time",
                                        "dispatchtime",
                                        "elapsedrealtime",
                                        "currentmediatime",
                                        "timer_get_time",
                                        "event.timestamp"};
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
            lab01_lost(out, "record.json: events: %s is missing", event_name(six[i]));
        else if (!fitting_source(ev))
            lab01_lost(
                out, "record.json: %s can't have been observed by \"%s\"; the handout has a table",
                event_name(six[i]), source_name(ev->source));
        else if (!reads_a_monotonic_clock(ev->clock_api))
            lab01_lost(
                out,
                "record.json: %s: clock_api \"%.40s\" is no call that reads a monotonic clock, "
                "such "
                "as performance.now (a page) or CLOCK_MONOTONIC (a server)",
                event_name(six[i]), ev->clock_api);
        else if (!fitting_api(ev))
            lab01_lost(out,
                       "record.json: %s was observed by \"%s\", which can't read the clock with %s",
                       event_name(six[i]), source_name(ev->source), ev->clock_api);
        else
            continue;
        return;
    }
    if (!cJSON_IsString(from) ||
        (strcmp(from->valuestring, "captured") != 0 && strcmp(from->valuestring, "authored") != 0))
        lab01_lost(out, "record.json: provenance must be \"captured\" or \"authored\"");
    else if (!strcmp(from->valuestring, "captured") && whole_ms(r))
        lab01_lost(
            out, "record.json: provenance is \"captured\", and each time of the server is a whole "
                 "millisecond: a clock doesn't give such times. Write \"authored\"");
    else if (!r->quality.check[0] || r->quality.verdict == VERDICT_NOT_REQUIRED)
        lab01_lost(out, "record.json: quality must name its check, and its verdict");
}

/* Whether the number, in units of `unit` ms, is `ms` rounded up or down. Who rounds up to more than
 * twice the time states another one. */
static bool is_rounded(const struct number_read *n, double unit, double ms) {
    double off_ms = n->value * unit - ms, last = unit * pow(10, -n->decimals);
    return (fabs(off_ms) < last + 1e-9 && off_ms <= ms) || fabs(off_ms) <= 0.05 * ms;
}

/* Whether the number is a point of time of a clock, rounded to the nearest or cut off. */
static bool is_point_of(const struct record *r, const struct number_read *n, double unit) {
    double last = unit * pow(10, -n->decimals);
    for (size_t i = 0; i < sizeof six / sizeof *six; i++) {
        double off_ms = (double)record_event(r, six[i])->t_ns / 1e6 - n->value * unit;
        if (off_ms >= -last / 2 - 1e-6 && off_ms < last) return true;
    }
    return false;
}

/* The first and the last event of each kind, and the last token_sent that carries a token. */
static size_t stamps_of(const struct record *r, const struct event *out[2 * EV_N + 1]) {
    size_t n = 0;
    for (int kind = 0; kind < EV_N; kind++) {
        const struct event *first = record_event(r, (enum event_kind)kind);
        const struct event *last = record_last_event(r, (enum event_kind)kind);
        if (first) out[n++] = first;
        if (last != first) out[n++] = last;
    }
    for (size_t i = r->n_events; i-- > 0;)
        if (r->events[i].kind == EV_TOKEN_SENT && r->events[i].tokens > 0) {
            out[n++] = &r->events[i];
            break;
        }
    return n;
}

/* Whether the number is the time from one event to another on its clock, or that time per token
 * (tpot is one). */
static bool is_span_of(const struct record *r, const struct number_read *n, double unit) {
    const struct event *at[2 * EV_N + 1];
    size_t count = stamps_of(r, at);
    int tokens = r->workload.output_tokens;
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++) {
            double ms = fabs((double)(at[i]->t_ns - at[k]->t_ns)) / 1e6;
            if (at[i]->clock != at[k]->clock || ms == 0) continue;
            if (is_rounded(n, unit, ms)) return true;
            for (int t = tokens - 1; t <= tokens; t++)
                if (t > 0 && is_rounded(n, unit, ms / t)) return true;
        }
    return false;
}

/* Whether the number is the difference of two intervals between the six events: the time on the way
 * is one. */
static bool is_difference_of(const struct record *r, const struct number_read *n, double unit) {
    double ms[6];
    int count = 0;
    for (size_t i = 0; i < sizeof six / sizeof *six; i++)
        for (size_t k = i + 1; k < sizeof six / sizeof *six; k++)
            if (on_browser(six[i]) == on_browser(six[k]))
                ms[count++] = (double)span(r, six[i], six[k]) / 1e6;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++)
            if (is_rounded(n, unit, fabs(ms[i] - ms[k]))) return true;
    return false;
}

/* Whether the number is a time of the record, which has its six events, in order. */
static bool is_time_of(const struct record *r, const struct number_read *n, double unit) {
    return is_span_of(r, n, unit) || is_difference_of(r, n, unit) || is_point_of(r, n, unit);
}

/* Whether a bound, in ms, is one of what the person experienced. */
static bool is_bound_of(const struct record *r, int bound, double ms) {
    double client = (double)span(r, EV_REQUEST_SUBMITTED, EV_FIRST_BYTE_RECEIVED) / 1e6;
    double e2e = (double)span(r, EV_REQUEST_SUBMITTED, EV_FINAL_BYTE_RECEIVED) / 1e6;
    return bound > 0 ? client <= ms : bound < 0 && e2e >= ms;
}

/* Whether the times that the text states (numbers with a unit of time), if any, have one of the
 * record's among them. */
static bool states_a_time_of(const struct record *r, const char *text) {
    struct number_read number[2];
    const char *p = text;
    bool any = false;
    int readings;
    for (const char *before = p; (readings = lab01_next_number(text, &p, number)) > 0; before = p) {
        double unit = lab01_unit_ms(p);
        int bound = lab01_bound(text, before + strcspn(before, "0123456789"));
        any |= unit != 0;
        if (unit != 0 && is_bound_of(r, bound, number[0].value * unit)) return true;
        for (int i = 0; unit != 0 && i < readings; i++) {
            lab01_add_rest(p, unit, &number[i]);
            if (is_time_of(r, &number[i], unit)) return true;
        }
    }
    return !any;
}

/* A record whose times are wrong has lost record_plausible for it: no statement can be held to
 * them. */
static bool has_plausible_times(const struct record *r) {
    struct evidence times = {0};
    check_plausible(r, &times);
    return times.outcome == OUTCOME_EARNED;
}

static void check_statement(const struct record *r, struct evidence *out) {
    char *plain = lab01_plain(r->statement);
    out->outcome = OUTCOME_EARNED;
    if (!strstr(r->statement, "client_ttft") && !strstr(r->statement, "e2e"))
        lab01_lost(
            out,
            "record.json: statement must name the interval that the person experienced, by its "
            "name");
    else if (strlen(r->statement) < 25 || evidence_words(r->statement) < EVIDENCE_SENTENCE_WORDS)
        lab01_lost(out, "record.json: statement is to be a sentence");
    else if (has_plausible_times(r) && !states_a_time_of(r, plain ? plain : r->statement))
        lab01_lost(out, "record.json: statement has a time that is none of the record's; servelab "
                        "record check prints its intervals");
    free(plain);
}

static void examine_record(const char *which, const cJSON *doc, struct evidence *out) {
    struct record r;
    struct err e;
    record_init(&r);
    if (record_from_json(&r, doc, 0, &e)) {
        if (!strcmp(which, "record_valid")) {
            lab01_lost_because(out, &e, "record.json");
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
