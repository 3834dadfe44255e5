/* oracle_quality.c: the right answers for classify.c, from the text of objective/classify.h. Each
 * reason is one predicate, and the first in the header's order that holds is the answer. */
#include "lab01/lab01.h"

#include <string.h>

static const char *const reason_names[REASON_N] = {
    "delivered",     "rejected",      "cancelled",        "timed_out", "internal_error",
    "in_band_error", "not_delivered", "no_finish_reason", "truncated"};
static const char *const verdict_names[] = {"not_evaluated", "passed", "failed", "not_required"};
static const char *const yes_no[] = {"false", "true"};

static bool has(const struct record *r, enum event_kind kind) {
    for (size_t i = 0; i < r->n_events; i++)
        if (r->events[i].kind == kind) return true;
    return false;
}

/* One of the six; of the client's three when the record has no other kind of event. */
static bool lacks_an_event(const struct record *r) {
    static const enum event_kind six[] = {EV_REQUEST_SUBMITTED,   EV_FIRST_BYTE_RECEIVED,
                                          EV_FINAL_BYTE_RECEIVED, EV_REQUEST_ACCEPTED,
                                          EV_REQUEST_ADMITTED,    EV_FIRST_TOKEN};
    int n = 3;
    for (size_t i = 0; i < r->n_events; i++) {
        enum event_kind kind = r->events[i].kind;
        if (kind != six[0] && kind != six[1] && kind != six[2]) n = 6;
    }
    for (int i = 0; i < n; i++)
        if (!has(r, six[i])) return true;
    return false;
}

static bool holds(const struct record *r, enum completion_reason reason,
                  enum truncation_rule truncation) {
    int32_t status = r->outcome.http_status;
    bool error = r->outcome.error[0] != '\0';
    switch (reason) {
    case REASON_REJECTED:
        return has(r, EV_REQUEST_REJECTED) || status == 429 || status == 503;
    case REASON_CANCELLED:
        return has(r, EV_REQUEST_CANCELLED);
    case REASON_TIMED_OUT:
        return !strcmp(r->outcome.error, "timed_out");
    case REASON_INTERNAL_ERROR:
        return has(r, EV_REQUEST_FAILED) || (status >= 500 && status != 503);
    case REASON_IN_BAND_ERROR:
        return status == 200 && error;
    case REASON_NOT_DELIVERED:
        return !r->outcome.delivered || lacks_an_event(r) || (status != 0 && status != 200) ||
               (status == 0 && error);
    case REASON_NO_FINISH_REASON:
        return r->outcome.finish_reason[0] == '\0';
    case REASON_TRUNCATED:
        return !strcmp(r->outcome.finish_reason, "length") && truncation == TRUNCATION_REJECT;
    default:
        return false;
    }
}

static enum completion_reason reason_of(const struct record *r, enum truncation_rule truncation) {
    for (int reason = REASON_REJECTED; reason < REASON_N; reason++)
        if (holds(r, (enum completion_reason)reason, truncation))
            return (enum completion_reason)reason;
    return REASON_DELIVERED;
}

static void want_request(const struct lab01_case *c, struct want *w) {
    const struct record *last = &c->rec[0];
    for (size_t i = 1; i < c->n_rec; i++)
        if (c->rec[i].attempt > last->attempt) last = &c->rec[i];
    enum completion_reason reason = reason_of(last, c->truncation);
    enum verdict quality = last->quality.check[0] ? last->quality.verdict : VERDICT_NOT_EVALUATED;
    bool completed = reason == REASON_DELIVERED;
    bool useful =
        completed && quality == VERDICT_PASSED && last->structure.verdict != VERDICT_FAILED;
    *w++ = (struct want){
        .name = "completed", .value = completed, .care = true, .names = yes_no, .n_names = 2};
    *w++ = (struct want){.name = "reason",
                         .value = reason,
                         .care = true,
                         .names = reason_names,
                         .n_names = REASON_N};
    *w++ = (struct want){
        .name = "quality", .value = quality, .care = true, .names = verdict_names, .n_names = 4};
    *w++ = (struct want){.name = "structure",
                         .value = last->structure.verdict,
                         .care = true,
                         .names = verdict_names,
                         .n_names = 4};
    *w++ = (struct want){
        .name = "useful", .value = useful, .care = true, .names = yes_no, .n_names = 2};
    *w = (struct want){.name = "attempts", .value = (int64_t)c->n_rec, .care = true};
}

static const struct interval *pick(const struct intervals *iv, enum interval_id id) {
    const struct interval *all[IV_N] = {&iv->client_ttft, &iv->server_ttft, &iv->queue_delay,
                                        &iv->e2e,         &iv->tpot,        &iv->gpu_execution};
    return all[id];
}

static bool is_good(const struct lab01_case *c) {
    const struct objective *o = &c->obj;
    bool good = c->cls.useful;
    if (o->structure.required && c->cls.structure != VERDICT_PASSED) good = false;
    for (int32_t i = 0; i < o->n_latency; i++) {
        const struct latency_limit *l = &o->latency[i];
        const struct interval *iv = pick(&c->iv, l->interval);
        bool applies =
            l->scope == SCOPE_REQUEST && !(l->interval == IV_TPOT && iv->status == INTERVAL_ABSENT);
        if (applies && !(iv->status == INTERVAL_OK && iv->ns < l->below_ns)) good = false;
    }
    return good;
}

void lab01_oracle_quality(const struct lab01_case *c, struct want *w) {
    if (c->fn == FN_REQUEST)
        want_request(c, w);
    else if (c->fn == FN_GOOD)
        *w = (struct want){
            .name = "good", .value = is_good(c), .care = true, .names = yes_no, .n_names = 2};
    else
        *w = (struct want){.name = "reason",
                           .value = reason_of(&c->rec[0], c->truncation),
                           .care = true,
                           .names = reason_names,
                           .n_names = REASON_N};
}
