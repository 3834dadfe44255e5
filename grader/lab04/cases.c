/* cases.c: writes and reads a case of lab 04. See cases.h. Field by field: a struct's padding would
 * send what the grader's memory held. */
#include "lab04/cases.h"

#include <string.h>

static void codec_count(struct wire *w, int32_t *n, size_t max) {
    size_t size = w->reading ? 0 : (size_t)*n;
    wire_size(w, &size, max);
    *n = (int32_t)size;
}

static void codec_record(struct wire *w, struct lab04_case *c) {
    struct record *r = &c->rec;
    wire_text(w, r->request_id, sizeof r->request_id);
    wire_i32(w, &r->attempt);
    wire_i32(w, &r->workload.prompt_tokens);
    wire_i32(w, &r->workload.max_output_tokens);
    wire_i32(w, &r->workload.output_tokens);
    wire_i32(w, &r->workload.cached_prompt_tokens);
    wire_size(w, &r->n_events, CASE_MAX_EVENTS);
    for (size_t i = 0; i < r->n_events && !w->bad; i++) {
        struct event *ev = &c->events[i];
        WIRE_ENUM(w, ev->kind);
        WIRE_ENUM(w, ev->clock);
        WIRE_ENUM(w, ev->source);
        wire_i64(w, &ev->t_ns);
        wire_i32(w, &ev->tokens);
        wire_text(w, ev->clock_api, sizeof ev->clock_api);
        wire_text(w, ev->range, sizeof ev->range);
    }
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
    wire_i64(w, &c->scheduled_ns);
    WIRE_ENUM(w, c->truncation);
    r->events = c->events;
    r->cap_events = r->n_events;
}

static void codec_objective(struct wire *w, struct objective *o) {
    wire_text(w, o->quality.check, sizeof o->quality.check);
    wire_f64(w, &o->quality.min_pass_rate);
    wire_bool(w, &o->structure.required);
    codec_count(w, &o->n_latency, OBJECTIVE_MAX_LIMITS);
    for (int32_t i = 0; i < o->n_latency && !w->bad; i++) {
        WIRE_ENUM(w, o->latency[i].interval);
        WIRE_ENUM(w, o->latency[i].scope);
        wire_i32(w, &o->latency[i].percentile_milli);
        wire_i64(w, &o->latency[i].below_ns);
    }
    wire_f64(w, &o->throughput.min_rps);
    wire_f64(w, &o->throughput.offered_rps);
    wire_f64(w, &o->reliability.max_failure_rate);
    codec_count(w, &o->reliability.n_failures, OBJECTIVE_MAX_FAILURES);
    for (int32_t i = 0; i < o->reliability.n_failures && !w->bad; i++)
        wire_text(w, o->reliability.failures[i], sizeof o->reliability.failures[i]);
    wire_f64(w, &o->reliability.max_recovery_s);
    wire_f64(w, &o->hard_limits.gpu_memory_gib);
    wire_f64(w, &o->hard_limits.joules_per_response);
}

static void codec_intervals(struct wire *w, struct intervals *iv) {
    struct interval *all[] = {&iv->client_ttft, &iv->server_ttft, &iv->queue_delay,
                              &iv->e2e,         &iv->tpot,        &iv->gpu_execution};
    for (size_t i = 0; i < 6; i++) {
        WIRE_ENUM(w, all[i]->status);
        wire_i64(w, &all[i]->ns);
    }
}

static void codec_attempt(struct wire *w, struct report_attempt *a) {
    wire_text(w, a->request_id, sizeof a->request_id);
    wire_i32(w, &a->attempt);
    wire_i32(w, &a->line);
    wire_bool(w, &a->at_server);
    wire_i64(w, &a->submitted_ns);
    wire_i64(w, &a->ended_ns);
    codec_intervals(w, &a->iv);
    WIRE_ENUM(w, a->reason);
    wire_bool(w, &a->finished_by_server);
    wire_text(w, a->check, sizeof a->check);
    WIRE_ENUM(w, a->quality);
    WIRE_ENUM(w, a->structure);
    wire_i32(w, &a->prompt_tokens);
    wire_i32(w, &a->cached_prompt_tokens);
    wire_i32(w, &a->output_tokens);
    wire_f64(w, &a->gpu_seconds);
    wire_f64(w, &a->joules);
}

static void codec_request(struct wire *w, struct report_request *q,
                          const struct report_attempt *deciding) {
    q->deciding = deciding;
    wire_i32(w, &q->attempts);
    wire_i64(w, &q->arrival_ns);
    codec_intervals(w, &q->iv);
    wire_bool(w, &q->c.completed);
    WIRE_ENUM(w, q->c.reason);
    WIRE_ENUM(w, q->c.quality);
    WIRE_ENUM(w, q->c.structure);
    wire_bool(w, &q->c.useful);
    wire_i32(w, &q->c.attempts);
    wire_bool(w, &q->good);
    wire_f64(w, &q->gpu_seconds);
    wire_f64(w, &q->joules);
}

static void codec_point(struct wire *w, struct report_point *p) {
    wire_i64(w, &p->window.unplaced);
    wire_i64(w, &p->requests);
    wire_i64(w, &p->useful);
    wire_f64(w, &p->load.offered_rps);
    wire_f64(w, &p->load.throughput_rps);
    wire_f64(w, &p->load.mean_latency_ns);
    wire_bool(w, &p->load.stable);
    wire_i64(w, &p->counts.requests);
    wire_i64(w, &p->counts.useful);
    wire_i64(w, &p->counts.failed);
    wire_i64(w, &p->counts.quality_passed);
    wire_i64(w, &p->counts.quality_evaluated);
    wire_f64(w, &p->counts.interval_s);
    for (size_t i = 0; i < OBJECTIVE_MAX_LIMITS; i++) {
        wire_bool(w, &p->limit[i].present);
        wire_bool(w, &p->limit[i].infinite);
        wire_i64(w, &p->limit[i].ns);
    }
    wire_f64(w, &p->joules);
    wire_i64(w, &p->recovery.outages);
    wire_i64(w, &p->recovery.longest_ns);
    wire_bool(w, &p->recovery.unended);
}

static void codec_report(struct wire *w, struct lab04_case *c) {
    codec_objective(w, &c->o);
    wire_size(w, &c->n_attempts, CASE_MAX_ATTEMPTS);
    for (size_t i = 0; i < c->n_attempts && !w->bad; i++) {
        codec_attempt(w, &c->attempts[i]);
        if (c->fn == FN_MEASURE) codec_request(w, &c->requests[i], &c->attempts[i]);
    }
    wire_i64(w, &c->window.from_ns);
    wire_i64(w, &c->window.to_ns);
    wire_i64(w, &c->window.unplaced);
    wire_size(w, &c->n_points, CASE_MAX_POINTS);
    for (size_t i = 0; i < c->n_points && !w->bad; i++) codec_point(w, &c->points[i]);
}

int lab04_case_codec(struct wire *w, struct lab04_case *c) {
    if (w->reading) memset(c, 0, sizeof *c);
    WIRE_ENUM(w, c->fn);
    WIRE_ENUM(w, c->memory);
    wire_size(w, &c->n_slots, CASE_MAX_SLOTS - 1);
    if ((unsigned)c->fn >= FN_N || c->n_slots == 0) w->bad = true;
    if (c->fn <= FN_ENGINE) {
        wire_size(w, &c->n, CASE_MAX_SCRIPT);
        wire_i64_array(w, c->v, c->n);
    } else if (c->fn == FN_ATTEMPT) {
        codec_record(w, c);
    } else {
        codec_report(w, c);
    }
    if (w->reading && c->fn == FN_VERDICT && c->n_points != 1) w->bad = true;
    return w->bad || (w->reading && w->left > 0) ? -1 : 0;
}
