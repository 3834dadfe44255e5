/* classify.c: classifies a user request (objective/classify.h has the rules).
 *
 * In this order: did the whole answer arrive, did a named check pass it, and only then, was it
 * within the limits?
 */
#include "objective/classify.h"
// BEGIN SOLUTION
//| #include "base/lab_todo.h"

#include <string.h>

static bool has(const struct record *r, enum event_kind kind) {
    return record_event(r, kind) != NULL;
}

/* The six events; the client's three are enough when there is no other event. */
static bool has_its_events(const struct record *r) {
    bool client = has(r, EV_REQUEST_SUBMITTED) && has(r, EV_FIRST_BYTE_RECEIVED) &&
                  has(r, EV_FINAL_BYTE_RECEIVED);
    bool server =
        has(r, EV_REQUEST_ACCEPTED) && has(r, EV_REQUEST_ADMITTED) && has(r, EV_FIRST_TOKEN);
    return client && (server || r->n_events == 3);
}
// END SOLUTION

enum completion_reason classify_attempt(const struct record *r, enum truncation_rule truncation) {
    // BEGIN SOLUTION
    //| LAB_TODO("classify_attempt");
    int32_t status = r->outcome.http_status;
    const char *error = r->outcome.error, *finish = r->outcome.finish_reason;
    if (has(r, EV_REQUEST_REJECTED) || status == 429 || status == 503) return REASON_REJECTED;
    if (has(r, EV_REQUEST_CANCELLED)) return REASON_CANCELLED;
    if (!strcmp(error, "timed_out")) return REASON_TIMED_OUT;
    if (has(r, EV_REQUEST_FAILED) || status >= 500) return REASON_INTERNAL_ERROR;
    if (status == 200 && error[0]) return REASON_IN_BAND_ERROR;
    bool refused = status != 0 && status != 200;
    if (!r->outcome.delivered || !has_its_events(r) || refused || error[0])
        return REASON_NOT_DELIVERED;
    if (!finish[0]) return REASON_NO_FINISH_REASON;
    if (!strcmp(finish, "length") && truncation != TRUNCATION_FIXED_LENGTH) return REASON_TRUNCATED;
    return REASON_DELIVERED;
    // END SOLUTION
}

void classify_request(const struct record *const *attempts, size_t n,
                      enum truncation_rule truncation, struct classification *out) {
    // BEGIN SOLUTION
    //| LAB_TODO("classify_request");
    const struct record *last = attempts[0];
    for (size_t i = 1; i < n; i++)
        if (attempts[i]->attempt > last->attempt) last = attempts[i];
    out->reason = classify_attempt(last, truncation);
    out->completed = out->reason == REASON_DELIVERED;
    out->quality = last->quality.check[0] ? last->quality.verdict : VERDICT_NOT_EVALUATED;
    out->structure = last->structure.verdict;
    out->useful =
        out->completed && out->quality == VERDICT_PASSED && out->structure != VERDICT_FAILED;
    out->attempts = (int32_t)n;
    // END SOLUTION
}

bool classify_good(const struct classification *c, const struct intervals *iv,
                   const struct objective *o) {
    // BEGIN SOLUTION
    //| LAB_TODO("classify_good");
    if (!c->useful) return false;
    if (o->structure.required && c->structure != VERDICT_PASSED) return false;
    for (int32_t i = 0; i < o->n_latency; i++) {
        const struct latency_limit *limit = &o->latency[i];
        if (limit->scope != SCOPE_REQUEST) continue;
        const struct interval *value = interval_get(iv, limit->interval);
        if (limit->interval == IV_TPOT && value->status == INTERVAL_ABSENT) continue;
        if (value->status != INTERVAL_OK || value->ns >= limit->below_ns) return false;
    }
    return true;
    // END SOLUTION
}
