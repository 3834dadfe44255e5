/* names.c: the names of completion reasons and SLO answers in JSON, and the class
 * finished_by_server. */
#include "objective/classify.h"
#include "objective/slo.h"

#include <string.h>

static const char *const reasons[REASON_N] = {
    [REASON_DELIVERED] = "delivered",           [REASON_REJECTED] = "rejected",
    [REASON_CANCELLED] = "cancelled",           [REASON_TIMED_OUT] = "timed_out",
    [REASON_INTERNAL_ERROR] = "internal_error", [REASON_IN_BAND_ERROR] = "in_band_error",
    [REASON_NOT_DELIVERED] = "not_delivered",   [REASON_NO_FINISH_REASON] = "no_finish_reason",
    [REASON_TRUNCATED] = "truncated",
};

const char *completion_reason_name(enum completion_reason r) {
    INVARIANT((unsigned)r < REASON_N);
    return reasons[r];
}

int completion_reason_from_name(const char *name) {
    for (int i = 0; i < REASON_N; i++)
        if (!strcmp(reasons[i], name)) return i;
    return -1;
}

bool finished_by_server(const struct record *r, enum completion_reason reason) {
    static const enum event_kind servers[] = {EV_REQUEST_ACCEPTED, EV_REQUEST_ADMITTED,
                                              EV_RESPONSE_FINISHED};
    static const enum event_kind clients[] = {EV_REQUEST_SUBMITTED, EV_FIRST_BYTE_RECEIVED,
                                              EV_FINAL_BYTE_RECEIVED};
    int32_t status = r->outcome.http_status;
    if (reason != REASON_NOT_DELIVERED || (status != 200 && status != 0)) return false;
    if (r->outcome.error[0] || !r->outcome.finish_reason[0]) return false;
    if (!record_event(r, EV_FIRST_TOKEN) && r->workload.output_tokens != 0) return false;
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++)
        if (!record_event(r, servers[i])) return false;
    for (size_t i = 0; i < sizeof clients / sizeof *clients; i++)
        if (record_event(r, clients[i])) return false;
    return true;
}

const char *attempt_reason_name(const struct record *r, enum completion_reason reason) {
    return finished_by_server(r, reason) ? FINISHED_BY_SERVER : completion_reason_name(reason);
}

const char *slo_answer_name(enum slo_answer a) {
    switch (a) {
    case SLO_MET:
        return "met";
    case SLO_MISSED:
        return "missed";
    case SLO_NOT_COMPUTABLE:
        return "not_computable";
    }
    INVARIANT(!"known answer");
    __builtin_unreachable();
}
