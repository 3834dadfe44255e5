/* make_attempt.c: records for report_attempt. Each is built from its intervals, so that the right
 * answer is known before the record is. */
#include "lab04/lab04.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a record is made of. Times in nanoseconds; -1: there is no such event. */
struct plan {
    int64_t submitted, ttft, e2e;         /* the client's: a time, and two intervals from it */
    int64_t accepted, queue, first, last; /* the server's: a time, and three intervals from it */
    int64_t gpu_ns;
    int output_tokens;
    enum completion_reason reason;
    bool reverse; /* events in the file are not in the order of their times */
};

static void event(struct lab04_making *m, enum event_kind kind, enum clock_id clock, int64_t t_ns,
                  const char *range) {
    struct event *ev = &m->c->events[m->c->rec.n_events++];
    memset(ev, 0, sizeof *ev);
    ev->kind = kind;
    ev->clock = clock;
    ev->source = clock == CLOCK_BROWSER ? SRC_BROWSER : SRC_SERVER_LOG;
    ev->t_ns = t_ns;
    strcpy(ev->clock_api, clock == CLOCK_BROWSER ? "performance.now" : "CLOCK_MONOTONIC");
    strcpy(ev->range, range);
}

static void make_outcome(struct record *r, enum completion_reason reason) {
    r->outcome.delivered = reason != REASON_NOT_DELIVERED;
    r->outcome.http_status = reason == REASON_REJECTED         ? 429
                             : reason == REASON_INTERNAL_ERROR ? 500
                                                               : 200;
    strcpy(r->outcome.finish_reason, reason == REASON_NO_FINISH_REASON ? ""
                                     : reason == REASON_TRUNCATED      ? "length"
                                                                       : "stop");
    if (reason == REASON_TIMED_OUT) strcpy(r->outcome.error, "timed_out");
    if (reason == REASON_IN_BAND_ERROR) strcpy(r->outcome.error, "the server gave up");
}

static void build(struct lab04_making *m, const struct plan *p) {
    struct record *r = &m->c->rec;
    const int64_t s = p->submitted, a = p->accepted;
    if (s >= 0) event(m, EV_REQUEST_SUBMITTED, CLOCK_BROWSER, s, "");
    if (a >= 0) event(m, EV_REQUEST_ACCEPTED, CLOCK_SERVER, a, "");
    if (a >= 0 && p->queue >= 0) event(m, EV_REQUEST_ADMITTED, CLOCK_SERVER, a + p->queue, "");
    if (a >= 0 && p->first >= 0) event(m, EV_FIRST_TOKEN, CLOCK_SERVER, a + p->first, "");
    if (s >= 0 && p->ttft >= 0) event(m, EV_FIRST_BYTE_RECEIVED, CLOCK_BROWSER, s + p->ttft, "");
    if (p->gpu_ns >= 0) {
        int64_t t = lab04_between(&m->rng, 0, 1 << 30), part = p->gpu_ns / 3;
        event(m, EV_GPU_START, CLOCK_GPU, t, "prefill");
        event(m, EV_GPU_END, CLOCK_GPU, t + part, "prefill");
        event(m, EV_GPU_START, CLOCK_GPU, t + 2 * part, "decode");
        event(m, EV_GPU_END, CLOCK_GPU, t + 2 * part + p->gpu_ns - part, "decode");
    }
    if (a >= 0 && p->last >= 0) event(m, EV_RESPONSE_FINISHED, CLOCK_SERVER, a + p->last, "");
    if (p->reason == REASON_CANCELLED)
        event(m, EV_REQUEST_CANCELLED, CLOCK_SERVER, a + (p->last > 0 ? p->last : 0), "");
    if (s >= 0 && p->e2e >= 0) event(m, EV_FINAL_BYTE_RECEIVED, CLOCK_BROWSER, s + p->e2e, "");
    for (size_t i = 0; p->reverse && i < r->n_events / 2; i++) {
        struct event swap = m->c->events[i];
        if (swap.kind >= EV_GPU_START || m->c->events[r->n_events - 1 - i].kind >= EV_GPU_START)
            continue;
        m->c->events[i] = m->c->events[r->n_events - 1 - i];
        m->c->events[r->n_events - 1 - i] = swap;
    }
    r->workload.output_tokens = p->output_tokens;
    make_outcome(r, p->reason);
}

static void want_interval(struct lab04_making *m, const char *status, const char *ns, int64_t v) {
    lab04_want(m, status, v < 0 ? INTERVAL_ABSENT : INTERVAL_OK);
    lab04_want(m, ns, v < 0 ? 0 : v);
    m->wants[m->n_wants - 1].is_ns = true;
}

static void want_all(struct lab04_making *m, const struct plan *p, double gpu_seconds,
                     enum completion_reason reason, bool by_server) {
    const struct record *r = &m->c->rec;
    int64_t lag = m->c->scheduled_ns >= 0 ? p->submitted - m->c->scheduled_ns : 0;
    int64_t start = m->c->scheduled_ns >= 0 ? m->c->scheduled_ns
                    : p->submitted >= 0     ? p->submitted
                                            : p->accepted;
    bool client = p->submitted >= 0;
    int64_t ttft = client && p->ttft >= 0 ? p->ttft + lag : -1;
    int64_t e2e = client && p->e2e >= 0 ? p->e2e + lag : -1, tpot = -1, server_end = p->accepted;
    for (size_t i = 0; i < r->n_events; i++)
        if (m->c->events[i].clock == CLOCK_SERVER && m->c->events[i].t_ns > server_end)
            server_end = m->c->events[i].t_ns;
    if (client && p->ttft >= 0 && p->e2e >= 0 && p->output_tokens >= 2)
        tpot = (p->e2e - p->ttft) / (p->output_tokens - 1); /* built without a rest */
    lab04_want(m, "rc", 0);
    lab04_want(m, "request_id", 1);
    lab04_want(m, "attempt", r->attempt);
    lab04_want(m, "at_server", !client && p->accepted >= 0);
    lab04_want(m, "submitted_ns", start);
    lab04_want(m, "ended_ns",
               client && p->e2e >= 0          ? p->submitted + p->e2e
               : start < 0 || p->accepted < 0 ? -1
                                              : start + server_end - p->accepted);
    want_interval(m, "client_ttft.status", "client_ttft.ns", ttft);
    want_interval(m, "server_ttft.status", "server_ttft.ns", p->accepted < 0 ? -1 : p->first);
    want_interval(m, "queue_delay.status", "queue_delay.ns", p->accepted < 0 ? -1 : p->queue);
    want_interval(m, "e2e.status", "e2e.ns", e2e);
    want_interval(m, "tpot.status", "tpot.ns", tpot);
    want_interval(m, "gpu_execution.status", "gpu_execution.ns", p->gpu_ns);
    lab04_want(m, "reason", (int)reason);
    lab04_want(m, "finished_by_server", by_server);
    lab04_want(m, "check", 1);
    lab04_want(m, "quality",
               r->quality.check[0] ? (int)r->quality.verdict : (int)VERDICT_NOT_EVALUATED);
    lab04_want(m, "structure", (int)r->structure.verdict);
    lab04_want(m, "prompt_tokens", r->workload.prompt_tokens);
    lab04_want(m, "cached_prompt_tokens", r->workload.cached_prompt_tokens);
    lab04_want(m, "output_tokens", r->workload.output_tokens);
    lab04_want_real(m, "gpu_seconds", gpu_seconds);
    lab04_want_real(m, "joules", r->resources.joules);
}

static struct plan whole(struct rng *rng) {
    struct plan p = {.gpu_ns = -1};
    p.submitted = lab04_between(rng, 1000 * 1000 * 1000, INT64_C(1) << 42);
    p.ttft = lab04_between(rng, 1000, 900 * 1000 * 1000);
    p.output_tokens = (int)lab04_between(rng, 2, 60);
    p.e2e = p.ttft + (p.output_tokens - 1) * lab04_between(rng, 1000, 90 * 1000 * 1000);
    p.accepted = lab04_between(rng, 0, INT64_C(1) << 40);
    p.queue = lab04_chance(rng, 20) ? 0 : lab04_between(rng, 0, p.ttft / 2);
    p.first = p.queue + lab04_between(rng, 0, p.ttft / 2);
    p.last = p.first + (p.e2e - p.ttft);
    return p;
}

static void make_workload(struct lab04_making *m) {
    struct record *r = &m->c->rec;
    snprintf(r->request_id, sizeof r->request_id, "r-%d", (int)lab04_between(&m->rng, 0, 9999));
    r->attempt = (int32_t)lab04_between(&m->rng, 1, 4);
    r->workload.prompt_tokens = (int32_t)lab04_between(&m->rng, -1, 4000);
    r->workload.cached_prompt_tokens = (int32_t)lab04_between(&m->rng, -1, 100);
    if (lab04_chance(&m->rng, 70)) strcpy(r->quality.check, "key-recall/1");
    r->quality.verdict = (enum verdict)lab04_between(&m->rng, 0, 2);
    if (r->quality.verdict && lab04_chance(&m->rng, 30)) strcpy(r->structure.check, "json/1");
    r->structure.verdict = r->structure.check[0] ? VERDICT_FAILED : VERDICT_NOT_REQUIRED;
    r->resources.gpu_seconds = r->resources.joules = NAN;
    m->c->scheduled_ns = -1;
    m->c->fn = FN_ATTEMPT;
}

/* An interval ends before it starts: of the server's, or the lag makes it so. */
static void make_negative(struct lab04_making *m, struct plan *p) {
    enum interval_id id = IV_QUEUE_DELAY;
    if (m->k % 3 == 0) {
        m->c->scheduled_ns = p->submitted + p->ttft + 1 + lab04_between(&m->rng, 0, 1000);
        id = IV_CLIENT_TTFT;
        lab04_kind(m, "it was sent long before the schedule wanted it");
    } else if (m->k % 3 == 1) {
        p->queue = p->first; /* and then the event is moved */
        lab04_kind(m, "admitted before it was accepted");
    } else {
        id = IV_SERVER_TTFT;
        lab04_kind(m, "the first token before the request");
    }
    build(m, p);
    for (size_t i = 0; m->k % 3 && i < m->c->rec.n_events; i++) {
        struct event *ev = &m->c->events[i];
        if (ev->kind == (id == IV_QUEUE_DELAY ? EV_REQUEST_ADMITTED : EV_FIRST_TOKEN))
            ev->t_ns = p->accepted - 1 - lab04_between(&m->rng, 0, 900);
    }
    lab04_want(m, "rc", -1);
    lab04_want(m, "the interval in e->field", id);
}

void lab04_make_attempt(struct lab04_making *m, enum lab04_maker which) {
    struct rng *rng = &m->rng;
    struct plan p = whole(rng);
    double gpu = NAN;
    make_workload(m);
    p.accepted += 2000; /* room for a moved event */
    p.reverse = lab04_chance(rng, 50);
    if (which == MAKE_ATTEMPT_NEGATIVE) {
        make_negative(m, &p);
        return;
    }
    lab04_kind(m, "a delivered answer");
    if (which == MAKE_ATTEMPT_LAG || lab04_chance(rng, 40)) {
        /* sometimes sent before the schedule: the lag is negative */
        int64_t lag = lab04_between(rng, -p.ttft, 400 * 1000 * 1000);
        m->c->scheduled_ns = p.submitted - lag;
        lab04_kind(m, "sent %s the schedule wanted it", lag < 0 ? "before" : "after");
    }
    if (which == MAKE_ATTEMPT_SERVER) {
        p.submitted = p.ttft = p.e2e = -1;
        m->c->scheduled_ns = -1;
        if (m->k % 3 == 1) p.reason = REASON_CANCELLED;
        if (m->k % 3 == 2) p.accepted = -1;
        lab04_kind(m, m->k % 3 == 2 ? "a record without an event" : "the server's half alone");
    }
    if (which == MAKE_ATTEMPT_ENDED && m->k % 2) {
        p.e2e = -1;
        p.reason = m->k % 4 == 1 ? REASON_CANCELLED : REASON_NOT_DELIVERED;
        if (m->k % 3 == 0) p.accepted = -1, p.reason = REASON_NOT_DELIVERED;
        lab04_kind(m, "the end of the answer did not arrive");
    }
    if (which == MAKE_ATTEMPT_REASON) {
        p.reason = (enum completion_reason)(m->k % REASON_N);
        m->c->truncation = lab04_chance(rng, 50) ? TRUNCATION_FIXED_LENGTH : TRUNCATION_REJECT;
        lab04_kind(m, "an attempt that ended as: %s", completion_reason_name(p.reason));
    }
    if (which == MAKE_ATTEMPT_RESOURCE) {
        if (m->k % 2) p.gpu_ns = lab04_between(rng, 3000, 2000000000);
        if (m->k % 4 < 2)
            gpu = m->c->rec.resources.gpu_seconds = (double)lab04_between(rng, 1, 70) / 7;
        if (lab04_chance(rng, 50))
            m->c->rec.resources.joules = (double)lab04_between(rng, 1, 300) / 3;
        if (p.gpu_ns >= 0 && isnan(gpu)) gpu = (double)p.gpu_ns / 1e9;
        lab04_kind(m, "with what the GPU spent on it %s", isnan(gpu) ? "unknown" : "known");
    }
    build(m, &p);
    bool by_server = which == MAKE_ATTEMPT_SERVER && m->k % 3 == 0;
    enum completion_reason reason = p.reason;
    if (reason == REASON_TRUNCATED && m->c->truncation == TRUNCATION_FIXED_LENGTH)
        reason = REASON_DELIVERED;
    if ((by_server || p.accepted < 0) && reason == REASON_DELIVERED) reason = REASON_NOT_DELIVERED;
    want_all(m, &p, gpu, reason, by_server);
}
