/* names.c: the names of completion reasons and SLO answers in JSON. */
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
