/* Rules as data: a row a reason, a function a rule. */
#include "objective/classify.h"

#include <stdbool.h>
#include <string.h>

typedef bool rule(const struct record *r, enum truncation_rule t);

static bool rejected(const struct record *r, enum truncation_rule t) {
    (void)t;
    switch (r->outcome.http_status) {
    case 429:
    case 503:
        return true;
    default:
        return record_event(r, EV_REQUEST_REJECTED) != NULL;
    }
}
static bool cancelled(const struct record *r, enum truncation_rule t) {
    (void)t;
    return record_event(r, EV_REQUEST_CANCELLED) != NULL;
}
static bool timed_out(const struct record *r, enum truncation_rule t) {
    (void)t;
    return strncmp(r->outcome.error, "timed_out", sizeof r->outcome.error) == 0;
}
static bool internal(const struct record *r, enum truncation_rule t) {
    (void)t;
    return record_last_event(r, EV_REQUEST_FAILED) || r->outcome.http_status / 100 >= 5;
}
static bool in_band(const struct record *r, enum truncation_rule t) {
    (void)t;
    return r->outcome.http_status == 200 && strlen(r->outcome.error) > 0;
}
static bool undelivered(const struct record *r, enum truncation_rule t) {
    unsigned seen = 0;
    const unsigned six = 1u << EV_REQUEST_SUBMITTED | 1u << EV_REQUEST_ACCEPTED |
                         1u << EV_REQUEST_ADMITTED | 1u << EV_FIRST_TOKEN |
                         1u << EV_FIRST_BYTE_RECEIVED | 1u << EV_FINAL_BYTE_RECEIVED;
    (void)t;
    for (size_t i = 0; i < r->n_events; i++) seen |= 1u << r->events[i].kind;
    unsigned need = r->n_events == 3
                        ? six & (1u << EV_REQUEST_SUBMITTED | 1u << EV_FIRST_BYTE_RECEIVED |
                                 1u << EV_FINAL_BYTE_RECEIVED)
                        : six;
    if (!r->outcome.delivered || (seen & need) != need) return true;
    if (r->outcome.http_status == 0) return *r->outcome.error != 0;
    return r->outcome.http_status != 200;
}
static bool unfinished(const struct record *r, enum truncation_rule t) {
    (void)t;
    return !*r->outcome.finish_reason;
}
static bool truncated(const struct record *r, enum truncation_rule t) {
    return t == TRUNCATION_REJECT && !strcmp(r->outcome.finish_reason, "length");
}

static const struct {
    rule *holds;
    enum completion_reason reason;
} rules[] = {{rejected, REASON_REJECTED},           {cancelled, REASON_CANCELLED},
             {timed_out, REASON_TIMED_OUT},         {internal, REASON_INTERNAL_ERROR},
             {in_band, REASON_IN_BAND_ERROR},       {undelivered, REASON_NOT_DELIVERED},
             {unfinished, REASON_NO_FINISH_REASON}, {truncated, REASON_TRUNCATED}};

enum completion_reason classify_attempt(const struct record *r, enum truncation_rule truncation) {
    for (unsigned i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].holds(r, truncation)) return rules[i].reason;
    return REASON_DELIVERED;
}

void classify_request(const struct record *const *attempts, size_t n,
                      enum truncation_rule truncation, struct classification *out) {
    size_t last = n - 1;
    for (size_t i = n; i-- > 0;)
        if (attempts[i]->attempt >= attempts[last]->attempt) last = i;
    const struct record *r = attempts[last];
    struct classification c = {.reason = classify_attempt(r, truncation),
                               .structure = r->structure.verdict,
                               .attempts = (int32_t)n};
    c.completed = c.reason == REASON_DELIVERED;
    if (r->quality.check[0]) c.quality = r->quality.verdict;
    c.useful = c.completed && c.quality == VERDICT_PASSED && c.structure != VERDICT_FAILED;
    *out = c;
}

bool classify_good(const struct classification *c, const struct intervals *iv,
                   const struct objective *o) {
    bool good = c->useful && (!o->structure.required || c->structure == VERDICT_PASSED);
    for (int32_t i = 0; good && i < o->n_latency; i++) {
        const struct interval *v = interval_get(iv, o->latency[i].interval);
        if (o->latency[i].scope == SCOPE_POPULATION) continue;
        switch (v->status) {
        case INTERVAL_OK:
            good = v->ns < o->latency[i].below_ns;
            break;
        case INTERVAL_ABSENT:
            good = o->latency[i].interval == IV_TPOT;
            break;
        default:
            good = false;
        }
    }
    return good;
}
