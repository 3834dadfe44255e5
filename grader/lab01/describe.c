/* describe.c: a case as text, for a practice seed. See lab01.h. */
#include "lab01/lab01.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

struct out {
    char *text;
    size_t cap;
};

#define SAY(o, ...) text_append((o)->text, (o)->cap, __VA_ARGS__)

static const char *const clocks[CLOCK_N] = {"browser", "server", "gpu", "sim"};
static const char *const events[EV_N] = {"request_submitted",
                                         "request_accepted",
                                         "tokenization_finished",
                                         "request_admitted",
                                         "request_preempted",
                                         "request_resumed",
                                         "first_token",
                                         "token_sent",
                                         "first_byte_received",
                                         "response_finished",
                                         "final_byte_received",
                                         "request_rejected",
                                         "request_cancelled",
                                         "request_failed",
                                         "gpu_start",
                                         "gpu_end"};
static const char *const verdicts[] = {"not_evaluated", "passed", "failed", "not_required"};
static const char *const intervals[IV_N] = {"client_ttft", "server_ttft", "queue_delay",
                                            "e2e",         "tpot",        "gpu_execution"};
static const char *const statuses[] = {"ok", "absent", "cross_clock", "negative"};

static void say_ns(struct out *o, int64_t ns) {
    char digits[48];
    SAY(o, "%s", text_ns(digits, sizeof digits, ns));
}

/* Of a long list the middle is left out: intervals need its beginning and its end. */
static void say_events(struct out *o, const struct record *r) {
    enum { BEGIN = 8, END = 6 };
    for (size_t i = 0; i < r->n_events; i++) {
        if (i == BEGIN && r->n_events > BEGIN + END) {
            i = r->n_events - END;
            SAY(o, "\n  .. %zu events more ..", i - BEGIN);
        }
        const struct event *ev = &r->events[i];
        SAY(o, "\n  %-21s %-7s ", events[ev->kind], clocks[ev->clock]);
        say_ns(o, ev->t_ns);
        if (ev->kind == EV_TOKEN_SENT) SAY(o, ", tokens %d", ev->tokens);
        if (ev->range[0]) SAY(o, ", range %s", ev->range);
    }
    for (size_t i = 0; i < r->n_offsets; i++)
        SAY(o, "\n  offset: %s - %s = %lld ns, give or take %lld", clocks[r->offsets[i].a],
            clocks[r->offsets[i].b], (long long)r->offsets[i].offset_ns,
            (long long)r->offsets[i].uncertainty_ns);
}

static void say_outcome(struct out *o, const struct record *r, enum truncation_rule truncation) {
    static const enum event_kind notable[] = {
        EV_REQUEST_SUBMITTED, EV_REQUEST_ACCEPTED,    EV_REQUEST_ADMITTED,
        EV_FIRST_TOKEN,       EV_FIRST_BYTE_RECEIVED, EV_FINAL_BYTE_RECEIVED,
        EV_REQUEST_REJECTED,  EV_REQUEST_CANCELLED,   EV_REQUEST_FAILED};
    SAY(o, "\n  attempt %d: delivered %s, http_status %d, finish_reason \"%s\", error \"%s\",",
        r->attempt, r->outcome.delivered ? "true" : "false", r->outcome.http_status,
        r->outcome.finish_reason, r->outcome.error);
    SAY(o, "\n    quality \"%s\" %s, structure \"%s\" %s, truncation %s,\n    events",
        r->quality.check, verdicts[r->quality.verdict], r->structure.check,
        verdicts[r->structure.verdict],
        truncation == TRUNCATION_REJECT ? "reject" : "fixed_length");
    for (size_t k = 0; k < sizeof notable / sizeof *notable; k++)
        for (size_t i = 0; i < r->n_events; i++)
            if (r->events[i].kind == notable[k]) {
                SAY(o, " %s", events[notable[k]]);
                break;
            }
}

static void say_limits(struct out *o, const struct lab01_case *c) {
    for (int32_t i = 0; i < c->obj.n_latency; i++) {
        const struct latency_limit *l = &c->obj.latency[i];
        SAY(o, "\n  limit: %s below ", intervals[l->interval]);
        say_ns(o, l->below_ns);
        SAY(o, ", scope %s", l->scope == SCOPE_REQUEST ? "request" : "population");
        if (c->fn < FN_LIMIT) continue;
        const struct percentile *p = &c->pct[i];
        SAY(o, "; percentile %s%s ", p->present ? "" : "absent ", p->infinite ? "infinite " : "");
        if (p->present && !p->infinite) say_ns(o, p->ns);
    }
}

static void say_good(struct out *o, const struct lab01_case *c) {
    const struct interval *all[IV_N] = {&c->iv.client_ttft, &c->iv.server_ttft,
                                        &c->iv.queue_delay, &c->iv.e2e,
                                        &c->iv.tpot,        &c->iv.gpu_execution};
    SAY(o, "\n  useful %s, structure %s, the objective %s a structure check",
        c->cls.useful ? "true" : "false", verdicts[c->cls.structure],
        c->obj.structure.required ? "requires" : "doesn't require");
    for (int i = 0; i < IV_N; i++) {
        SAY(o, "\n  %s: %s ", intervals[i], statuses[all[i]->status]);
        if (all[i]->status == INTERVAL_OK) say_ns(o, all[i]->ns);
    }
    say_limits(o, c);
}

static void say_population(struct out *o, const struct lab01_case *c) {
    enum { SHOWN = 24 };
    SAY(o, "\n  percentile_milli %d, n_ok %zu, n_failed %zu, obs_ns", c->percentile_milli, c->n_ok,
        c->n_failed);
    for (size_t i = 0; i < c->n_ok && i < SHOWN; i++) SAY(o, " %lld", (long long)c->obs[i]);
    if (c->n_ok > SHOWN) SAY(o, " ...");
}

static void say_counts(struct out *o, const struct lab01_case *c) {
    const struct objective *b = &c->obj;
    const struct slo_counts *n = &c->counts;
    SAY(o,
        "\n  requests %lld, useful %lld, failed %lld, quality_passed %lld of %lld evaluated, "
        "interval_s %g",
        (long long)n->requests, (long long)n->useful, (long long)n->failed,
        (long long)n->quality_passed, (long long)n->quality_evaluated, n->interval_s);
    SAY(o, "\n  objective: max_failure_rate %g, min_pass_rate %g, min_rps %g",
        b->reliability.max_failure_rate, b->quality.min_pass_rate, b->throughput.min_rps);
    if (c->fn == FN_VALUE)
        SAY(o,
            "\n  resource: primary \"%s\", accelerators %g, usd_per_accelerator_hour %g, "
            "reserve_fraction %g; cap %zu",
            b->resource.primary, b->resource.accelerators, b->resource.usd_per_accelerator_hour,
            b->resource.reserve_fraction, c->cap);
    if (c->n_pct == 0) SAY(o, "\n  no latency limits, so percentiles is NULL");
    say_limits(o, c);
}

void lab01_describe(const struct lab01_case *c, char *text, size_t cap) {
    static const char *const functions[FN_N] = {
        "interval_between",    "interval_divide",  "intervals_compute", "intervals_itl",
        "classify_attempt",    "classify_request", "classify_good",     "percentile_nearest_rank",
        "slo_limit",           "slo_failure_rate", "slo_quality",       "slo_throughput",
        "slo_objective_value", "slo_verdict"};
    struct out o = {text, cap};
    text[0] = '\0';
    SAY(&o, "%s", functions[c->fn]);
    if (c->fn == FN_DIVIDE) SAY(&o, "(%lld, %lld)", (long long)c->n, (long long)c->d);
    if (c->fn == FN_BETWEEN)
        SAY(&o, ", start %s, end %s", c->start < 0 ? "NULL" : "events[0]",
            c->end < 0    ? "NULL"
            : c->end == 0 ? "events[0]"
                          : "events[1]");
    if (c->fn == FN_ITL) SAY(&o, ", cap %zu", c->cap);
    if (c->fn == FN_COMPUTE) SAY(&o, ", output_tokens %d", c->rec[0].workload.output_tokens);
    if (c->fn == FN_BETWEEN || c->fn == FN_COMPUTE || c->fn == FN_ITL) say_events(&o, &c->rec[0]);
    if (c->fn == FN_ATTEMPT || c->fn == FN_REQUEST)
        for (size_t i = 0; i < c->n_rec; i++) say_outcome(&o, &c->rec[i], c->truncation);
    if (c->fn == FN_GOOD) say_good(&o, c);
    if (c->fn == FN_RANK) say_population(&o, c);
    if (c->fn == FN_LIMIT) say_limits(&o, c);
    if (c->fn > FN_LIMIT) say_counts(&o, c);
}
