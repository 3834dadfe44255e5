/* describe.c: a case as text, for a practice seed. See lab04.h. */
#include "lab04/lab04.h"

#include "base/text.h"

struct out {
    char *text;
    size_t cap;
};

#define SAY(o, ...) text_append((o)->text, (o)->cap, __VA_ARGS__)

enum { SHOWN = 6 };

static void say_stamps(struct out *o, const struct lab04_case *c) {
    static const char *const names[] = {"accepted",  "admitted",  "preempted", "first_token",
                                        "finished",  "rejected",  "cancelled", "failed",
                                        "tokenized", "token_sent"};
    SAY(o, "the clock begins at %lld ns", (long long)c->v[1]);
    for (int64_t i = 0; i < c->v[2] && i < 2 * SHOWN; i++) {
        const int64_t *call = c->v + 3 + 3 * i;
        SAY(o, "\n  stamp_%s", names[call[0]]);
        if (call[0] >= 8) SAY(o, " of %lld tokens", (long long)call[1]);
        SAY(o, ", then the clock moves by %lld ns", (long long)call[2]);
    }
    if (c->v[2] > 2 * SHOWN) SAY(o, "\n  and %lld more", (long long)c->v[2] - 2 * SHOWN);
}

static void say_record(struct out *o, const struct lab04_case *c) {
    const struct record *r = &c->rec;
    SAY(o, "report_attempt, scheduled_ns %lld, output tokens %d, finish_reason \"%s\", status %d%s",
        (long long)c->scheduled_ns, r->workload.output_tokens, r->outcome.finish_reason,
        r->outcome.http_status, r->outcome.delivered ? "" : ", not delivered");
    for (size_t i = 0; i < r->n_events; i++)
        SAY(o, "\n  %s %lld on %s", event_name(c->events[i].kind), (long long)c->events[i].t_ns,
            clock_name(c->events[i].clock));
}

static void say_attempts(struct out *o, const struct lab04_case *c) {
    SAY(o, "report_group, %zu attempts", c->n_attempts);
    for (size_t i = 0; i < c->n_attempts && i < SHOWN; i++) {
        const struct report_attempt *a = &c->attempts[i];
        SAY(o, "\n  line %d: %s attempt %d, submitted %lld, ended %lld, %s", a->line, a->request_id,
            a->attempt, (long long)a->submitted_ns, (long long)a->ended_ns,
            completion_reason_name(a->reason));
    }
    if (c->n_attempts > SHOWN) SAY(o, "\n  and %zu more", c->n_attempts - SHOWN);
}

static void say_limits(struct out *o, const struct objective *q) {
    for (int32_t i = 0; i < q->n_latency; i++)
        SAY(o, "\n  limit %d: %s p%g below %lld ns%s", i, interval_name(q->latency[i].interval),
            q->latency[i].percentile_milli / 1000.0, (long long)q->latency[i].below_ns,
            q->latency[i].scope == SCOPE_POPULATION ? "" : ", of one request");
    for (int32_t i = 0; i < q->reliability.n_failures; i++)
        SAY(o, "%s%s", i ? ", " : "\n  failures: ", q->reliability.failures[i]);
}

static void say_requests(struct out *o, const struct lab04_case *c) {
    SAY(o, "report_measure, window from %lld to %lld ns, unplaced %lld, %zu requests",
        (long long)c->window.from_ns, (long long)c->window.to_ns, (long long)c->window.unplaced,
        c->n_attempts);
    say_limits(o, &c->o);
    for (size_t i = 0; i < c->n_attempts && i < SHOWN; i++) {
        const struct report_request *q = &c->requests[i];
        SAY(o, "\n  arrival %lld, ended %lld, attempts %d, %s%s%s", (long long)q->arrival_ns,
            (long long)c->attempts[i].ended_ns, q->attempts, completion_reason_name(q->c.reason),
            q->c.useful ? ", useful" : "",
            c->attempts[i].finished_by_server ? ", finished by the server" : "");
    }
    if (c->n_attempts > SHOWN) SAY(o, "\n  and %zu more", c->n_attempts - SHOWN);
}

static void say_points(struct out *o, const struct lab04_case *c) {
    SAY(o, "%s", c->fn == FN_VERDICT ? "report_verdict" : "report_regions");
    say_limits(o, &c->o);
    for (size_t i = 0; i < c->n_points; i++) {
        const struct report_point *p = &c->points[i];
        SAY(o,
            "\n  point %zu: offered %.6g, throughput %.6g, %s, useful %lld, failed %lld of %lld, "
            "passed %lld of %lld, joules %g, outages %lld (longest %lld ns%s), unplaced %lld",
            i, p->load.offered_rps, p->load.throughput_rps,
            p->load.stable ? "stable" : "not stable", (long long)p->counts.useful,
            (long long)p->counts.failed, (long long)p->counts.requests,
            (long long)p->counts.quality_passed, (long long)p->counts.quality_evaluated, p->joules,
            (long long)p->recovery.outages, (long long)p->recovery.longest_ns,
            p->recovery.unended ? ", one did not end" : "", (long long)p->window.unplaced);
        for (int32_t k = 0; k < c->o.n_latency; k++) {
            const struct percentile *l = &p->limit[k];
            SAY(o, ", limit %d: ", k);
            if (!l->present || l->infinite)
                SAY(o, "%s", l->present ? "infinite" : "absent");
            else
                SAY(o, "%lld ns", (long long)l->ns);
        }
    }
}

void lab04_describe(const struct lab04_case *c, char *text, size_t cap) {
    struct out o = {text, cap};
    text[0] = '\0';
    if (c->fn == FN_STAMPS) say_stamps(&o, c);
    if (c->fn == FN_ATTEMPT) say_record(&o, c);
    if (c->fn == FN_GROUP) say_attempts(&o, c);
    if (c->fn == FN_MEASURE) say_requests(&o, c);
    if (c->fn == FN_VERDICT || c->fn == FN_REGIONS) say_points(&o, c);
}
