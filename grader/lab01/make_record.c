/* make_record.c: the parts that lab 01's cases are made of. See lab01.h. */
#include "lab01/lab01.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lab01_make_kind(struct lab01_making *m, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(m->kind, CASE_KIND_BYTES, fmt, ap);
    va_end(ap);
}

int64_t lab01_make_between(struct lab01_making *m, int64_t lo, int64_t hi) {
    INVARIANT(lo <= hi);
    return lo + (int64_t)rng_below(&m->rng, (uint64_t)(hi - lo) + 1);
}

bool lab01_make_chance(struct lab01_making *m, int percent) {
    return lab01_make_between(m, 0, 99) < percent;
}

void lab01_make_event(struct record *r, enum event_kind kind, enum clock_id clock, int64_t t_ns,
                      int tokens, const char *range) {
    if (!r->events) {
        r->events = calloc(CASE_MAX_EVENTS, sizeof *r->events);
        INVARIANT(r->events != NULL);
        r->cap_events = CASE_MAX_EVENTS;
    }
    INVARIANT(r->n_events < CASE_MAX_EVENTS);
    struct event *ev = &r->events[r->n_events++];
    static const char *const api[CLOCK_N] = {"performance.now", "CLOCK_MONOTONIC",
                                             "cudaEventElapsedTime", "sim"};
    static const enum event_source source[CLOCK_N] = {SRC_BROWSER, SRC_SERVER_LOG, SRC_CUDA_EVENT,
                                                      SRC_SIMULATOR};
    memset(ev, 0, sizeof *ev);
    ev->kind = kind;
    ev->clock = clock;
    ev->source = source[clock];
    ev->t_ns = t_ns;
    ev->tokens = tokens;
    snprintf(ev->clock_api, sizeof ev->clock_api, "%s", api[clock]);
    snprintf(ev->range, sizeof ev->range, "%s", range ? range : "");
}

void lab01_make_drop(struct record *r, enum event_kind kind) {
    size_t kept = 0;
    for (size_t i = 0; i < r->n_events; i++)
        if (r->events[i].kind != kind) r->events[kept++] = r->events[i];
    r->n_events = kept;
}

struct event *lab01_make_find(struct record *r, enum event_kind kind) {
    for (size_t i = 0; i < r->n_events; i++)
        if (r->events[i].kind == kind) return &r->events[i];
    INVARIANT(!"the record has this event");
    return NULL;
}

void lab01_make_finish(struct record *r, const char *reason) {
    memset(r->outcome.finish_reason, 0, sizeof r->outcome.finish_reason);
    snprintf(r->outcome.finish_reason, sizeof r->outcome.finish_reason, "%s", reason);
}

void lab01_make_error(struct record *r, const char *text) {
    memset(r->outcome.error, 0, sizeof r->outcome.error);
    snprintf(r->outcome.error, sizeof r->outcome.error, "%s", text);
}

static void set_texts(struct lab01_making *m, struct record *r) {
    snprintf(r->request_id, sizeof r->request_id, "r-%04d", (int)lab01_make_between(m, 1, 9999));
    snprintf(r->workload.model, sizeof r->workload.model, "tiny");
    snprintf(r->workload.decoding, sizeof r->workload.decoding, "greedy");
    snprintf(r->quality.check, sizeof r->quality.check, "key-recall/1");
    r->quality.verdict = VERDICT_PASSED;
    r->structure.verdict = VERDICT_NOT_REQUIRED;
    r->resources.gpu_seconds = r->resources.joules = (double)NAN;
    r->outcome.delivered = true;
    r->outcome.http_status = 200;
    lab01_make_finish(r, "stop");
}

struct record *lab01_make_record(struct lab01_making *m, int slot, int tokens) {
    struct record *r = &m->c->rec[slot];
    if (m->c->n_rec < (size_t)slot + 1) m->c->n_rec = (size_t)slot + 1;
    set_texts(m, r);
    r->attempt = slot + 1;
    r->workload.prompt_tokens = 2048;
    r->workload.max_output_tokens = tokens + (int)lab01_make_between(m, 1, 100);
    r->workload.output_tokens = tokens;
    int64_t b = lab01_make_between(m, 1000000, INT64_C(1000000000000));
    int64_t s = lab01_make_between(m, INT64_C(5000000000000), INT64_C(9000000000000));
    int64_t delay = lab01_make_between(m, 100000, 90000000); /* of the network, in each direction */
    int64_t t = s;
    lab01_make_event(r, EV_REQUEST_SUBMITTED, CLOCK_BROWSER, b, 0, NULL);
    lab01_make_event(r, EV_REQUEST_ACCEPTED, CLOCK_SERVER, t, 0, NULL);
    lab01_make_event(r, EV_TOKENIZATION_FINISHED, CLOCK_SERVER,
                     t += lab01_make_between(m, 1, 9000000), 0, NULL);
    lab01_make_event(r, EV_REQUEST_ADMITTED, CLOCK_SERVER, t += lab01_make_between(m, 1, 400000000),
                     0, NULL);
    lab01_make_event(r, EV_FIRST_TOKEN, CLOCK_SERVER, t += lab01_make_between(m, 1, 900000000), 0,
                     NULL);
    int64_t first_sent = t;
    for (int i = 0; i < tokens; i++) {
        t += lab01_make_between(m, 1, 60000000);
        if (i == 0) first_sent = t;
        lab01_make_event(r, EV_TOKEN_SENT, CLOCK_SERVER, t, 1, NULL);
    }
    int64_t first_byte = b + (first_sent - s) + 2 * delay + lab01_make_between(m, 0, 3000000);
    int64_t final_byte = first_byte + (t - first_sent) + lab01_make_between(m, 1, 3000000);
    lab01_make_event(r, EV_FIRST_BYTE_RECEIVED, CLOCK_BROWSER, first_byte, 0, NULL);
    lab01_make_event(r, EV_RESPONSE_FINISHED, CLOCK_SERVER, t + lab01_make_between(m, 1, 900000), 0,
                     NULL);
    lab01_make_event(r, EV_FINAL_BYTE_RECEIVED, CLOCK_BROWSER, final_byte, 0, NULL);
    return r;
}

void lab01_make_objective(struct lab01_case *c) {
    struct objective *o = &c->obj;
    memset(o, 0, sizeof *o);
    snprintf(o->name, sizeof o->name, "interactive decoder");
    snprintf(o->unit_of_work, sizeof o->unit_of_work, "useful_response");
    snprintf(o->quality.check, sizeof o->quality.check, "key-recall/1");
    snprintf(o->resource.primary, sizeof o->resource.primary, "usd");
    o->quality.min_pass_rate = (double)NAN;
    o->throughput.min_rps = o->throughput.offered_rps = (double)NAN;
    o->reliability.max_failure_rate = o->reliability.max_recovery_s = (double)NAN;
    o->resource.accelerators = 1;
    o->resource.usd_per_accelerator_hour = (double)NAN;
    o->hard_limits.gpu_memory_gib = o->hard_limits.joules_per_response = (double)NAN;
    c->counts = (struct slo_counts){-1, -1, -1, -1, -1, (double)NAN};
}
