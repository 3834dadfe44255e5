/* cases.c: writes and reads a case of lab 01. See cases.h. Field by field: a struct's padding would
 * send what the grader's stack held, and only the case may reach the child. */
#include "lab01/cases.h"

#include <stdlib.h>
#include <string.h>

void lab01_case_init(struct lab01_case *c) {
    memset(c, 0, sizeof *c);
}

void lab01_case_release(struct lab01_case *c) {
    for (size_t i = 0; i < CASE_MAX_RECORDS; i++) free(c->rec[i].events);
    free(c->obs);
    lab01_case_init(c);
}

static void codec_event(struct wire *w, struct event *ev) {
    WIRE_ENUM(w, ev->kind);
    WIRE_ENUM(w, ev->clock);
    WIRE_ENUM(w, ev->source);
    wire_i64(w, &ev->t_ns);
    wire_i32(w, &ev->tokens);
    wire_text(w, ev->clock_api, sizeof ev->clock_api);
    wire_text(w, ev->range, sizeof ev->range);
}

static void codec_events(struct wire *w, struct record *r) {
    wire_size(w, &r->n_events, CASE_MAX_EVENTS);
    if (w->reading && !w->bad) {
        r->cap_events = r->n_events;
        r->events = calloc(r->n_events ? r->n_events : 1, sizeof *r->events);
        if (!r->events) w->bad = true;
    }
    for (size_t i = 0; i < r->n_events && !w->bad; i++) codec_event(w, &r->events[i]);
}

static void codec_offset(struct wire *w, struct clock_offset *o) {
    WIRE_ENUM(w, o->a);
    WIRE_ENUM(w, o->b);
    wire_i64(w, &o->offset_ns);
    wire_i64(w, &o->uncertainty_ns);
}

/* Entries beyond n_offsets are not offsets; wrong values there show a function that reads them. */
static void decoy_offsets(struct record *r) {
    static const enum clock_id pairs[4][2] = {{CLOCK_BROWSER, CLOCK_SERVER},
                                              {CLOCK_SERVER, CLOCK_GPU},
                                              {CLOCK_BROWSER, CLOCK_GPU},
                                              {CLOCK_GPU, CLOCK_SIM}};
    for (size_t i = r->n_offsets; i < 4; i++)
        r->offsets[i] = (struct clock_offset){pairs[i][0], pairs[i][1], 4711, 13};
}

static void codec_record(struct wire *w, struct record *r) {
    wire_text(w, r->request_id, sizeof r->request_id);
    wire_i32(w, &r->attempt);
    wire_text(w, r->workload.model, sizeof r->workload.model);
    wire_i32(w, &r->workload.prompt_tokens);
    wire_i32(w, &r->workload.max_output_tokens);
    wire_i32(w, &r->workload.output_tokens);
    wire_text(w, r->workload.decoding, sizeof r->workload.decoding);
    codec_events(w, r);
    wire_size(w, &r->n_offsets, sizeof r->offsets / sizeof *r->offsets);
    for (size_t i = 0; i < r->n_offsets && !w->bad; i++) codec_offset(w, &r->offsets[i]);
    if (w->reading && !w->bad) decoy_offsets(r);
    wire_bool(w, &r->outcome.delivered);
    wire_i32(w, &r->outcome.http_status);
    wire_text(w, r->outcome.finish_reason, sizeof r->outcome.finish_reason);
    wire_text(w, r->outcome.error, sizeof r->outcome.error);
    wire_text(w, r->quality.check, sizeof r->quality.check);
    WIRE_ENUM(w, r->quality.verdict);
    wire_text(w, r->structure.check, sizeof r->structure.check);
    WIRE_ENUM(w, r->structure.verdict);
    wire_f64(w, &r->resources.gpu_seconds);
    wire_f64(w, &r->resources.joules);
}

static void codec_interval(struct wire *w, struct interval *i) {
    WIRE_ENUM(w, i->status);
    wire_i64(w, &i->ns);
    wire_i64(w, &i->uncertainty_ns);
}

static void codec_intervals(struct wire *w, struct intervals *iv) {
    codec_interval(w, &iv->client_ttft);
    codec_interval(w, &iv->server_ttft);
    codec_interval(w, &iv->queue_delay);
    codec_interval(w, &iv->e2e);
    codec_interval(w, &iv->tpot);
    codec_interval(w, &iv->gpu_execution);
    WIRE_ENUM(w, iv->tpot_boundary);
}

static void codec_classification(struct wire *w, struct classification *c) {
    wire_bool(w, &c->completed);
    WIRE_ENUM(w, c->reason);
    WIRE_ENUM(w, c->quality);
    WIRE_ENUM(w, c->structure);
    wire_bool(w, &c->useful);
    wire_i32(w, &c->attempts);
}

/* Entries beyond n_latency are not limits. These are missed by every request, which shows a
 * function that applies them. */
static void decoy_limits(struct objective *o, enum limit_scope scope) {
    for (int32_t i = o->n_latency; i < OBJECTIVE_MAX_LIMITS; i++)
        o->latency[i] = (struct latency_limit){IV_E2E, scope, 1, 0};
}

static void codec_objective(struct wire *w, struct objective *o, enum limit_scope decoys) {
    wire_text(w, o->name, sizeof o->name);
    WIRE_ENUM(w, o->kind);
    wire_text(w, o->unit_of_work, sizeof o->unit_of_work);
    wire_text(w, o->quality.check, sizeof o->quality.check);
    wire_f64(w, &o->quality.min_pass_rate);
    wire_text(w, o->structure.check, sizeof o->structure.check);
    wire_bool(w, &o->structure.required);
    WIRE_ENUM(w, o->truncation);
    size_t n = w->reading ? 0 : (size_t)o->n_latency;
    wire_size(w, &n, OBJECTIVE_MAX_LIMITS);
    o->n_latency = (int32_t)n;
    for (size_t i = 0; i < n && !w->bad; i++) {
        WIRE_ENUM(w, o->latency[i].interval);
        WIRE_ENUM(w, o->latency[i].scope);
        wire_i32(w, &o->latency[i].percentile_milli);
        wire_i64(w, &o->latency[i].below_ns);
    }
    if (w->reading && !w->bad) decoy_limits(o, decoys);
    wire_f64(w, &o->throughput.min_rps);
    wire_f64(w, &o->throughput.offered_rps);
    wire_f64(w, &o->reliability.max_failure_rate);
    wire_f64(w, &o->reliability.max_recovery_s);
    wire_text(w, o->resource.primary, sizeof o->resource.primary);
    wire_f64(w, &o->resource.accelerators);
    wire_f64(w, &o->resource.usd_per_accelerator_hour);
    wire_f64(w, &o->resource.reserve_fraction);
    wire_bool(w, &o->resource.count_idle);
    wire_f64(w, &o->hard_limits.gpu_memory_gib);
    wire_f64(w, &o->hard_limits.joules_per_response);
}

static void codec_percentiles(struct wire *w, struct lab01_case *c) {
    wire_size(w, &c->n_pct, OBJECTIVE_MAX_LIMITS);
    for (size_t i = 0; i < c->n_pct && !w->bad; i++) {
        struct percentile *p = &c->pct[i];
        wire_bool(w, &p->present);
        wire_bool(w, &p->infinite);
        wire_i64(w, &p->ns);
        wire_size(w, &p->n, SIZE_MAX / 2);
        wire_size(w, &p->failed, SIZE_MAX / 2);
        wire_bool(w, &p->few);
    }
}

static void codec_observations(struct wire *w, struct lab01_case *c) {
    wire_size(w, &c->n_ok, CASE_MAX_OBS);
    if (w->reading && !w->bad && c->n_ok > 0) {
        c->obs = calloc(c->n_ok, sizeof *c->obs);
        if (!c->obs) w->bad = true;
    }
    if (!w->bad) wire_i64_array(w, c->obs, c->n_ok);
    wire_size(w, &c->n_failed, SIZE_MAX / 2);
    wire_i32(w, &c->percentile_milli);
}

static void codec_counts(struct wire *w, struct slo_counts *n) {
    wire_i64(w, &n->requests);
    wire_i64(w, &n->useful);
    wire_i64(w, &n->failed);
    wire_i64(w, &n->quality_passed);
    wire_i64(w, &n->quality_evaluated);
    wire_f64(w, &n->interval_s);
}

int lab01_case_codec(struct wire *w, struct lab01_case *c) {
    if (w->reading) lab01_case_init(c);
    WIRE_ENUM(w, c->fn);
    WIRE_ENUM(w, c->memory);
    wire_size(w, &c->n_rec, CASE_MAX_RECORDS);
    for (size_t i = 0; i < c->n_rec && !w->bad; i++) codec_record(w, &c->rec[i]);
    wire_i32(w, &c->start);
    wire_i32(w, &c->end);
    wire_i64(w, &c->n);
    wire_i64(w, &c->d);
    wire_size(w, &c->cap, CASE_MAX_ITL);
    WIRE_ENUM(w, c->truncation);
    if (c->fn == FN_GOOD) {
        codec_classification(w, &c->cls);
        codec_intervals(w, &c->iv);
    }
    if (c->fn == FN_RANK) codec_observations(w, c);
    if (c->fn == FN_GOOD || c->fn >= FN_LIMIT)
        codec_objective(w, &c->obj, c->fn == FN_GOOD ? SCOPE_REQUEST : SCOPE_POPULATION);
    if (c->fn >= FN_LIMIT) {
        codec_percentiles(w, c);
        codec_counts(w, &c->counts);
    }
    bool whole = !w->reading || w->left == 0;
    if (w->bad || !whole || (unsigned)c->fn >= FN_N) {
        if (w->reading) lab01_case_release(c);
        return -1;
    }
    return 0;
}

static size_t answer_slots(const struct lab01_case *c) {
    switch (c->fn) {
    case FN_BETWEEN:
        return 3;
    case FN_COMPUTE:
        return 6 * 3 + 1;
    case FN_ITL:
        return 1 + c->cap + CASE_SPARE;
    case FN_REQUEST:
        return 6;
    case FN_RANK:
        return 6;
    case FN_VALUE:
        return 4;
    default:
        return 1;
    }
}

size_t lab01_case_slots(const struct lab01_case *c) {
    return answer_slots(c) + (c->memory == MEMORY_REPEAT);
}
