/* interval_names.c: the intervals' names and formulas, and an interval by its number. See
 * intervals.h.
 */
#include "record/intervals.h"

#include <string.h>

static const char *const names[IV_N] = {
    [IV_CLIENT_TTFT] = "client_ttft",
    [IV_SERVER_TTFT] = "server_ttft",
    [IV_QUEUE_DELAY] = "queue_delay",
    [IV_E2E] = "e2e",
    [IV_TPOT] = "tpot",
    [IV_GPU_EXECUTION] = "gpu_execution",
};

const char *interval_name(enum interval_id id) {
    INVARIANT((unsigned)id < IV_N);
    return names[id];
}

int interval_from_name(const char *name) {
    for (int i = 0; i < IV_N; i++)
        if (!strcmp(names[i], name)) return i;
    return -1;
}

const struct interval *interval_get(const struct intervals *iv, enum interval_id id) {
    switch (id) {
    case IV_CLIENT_TTFT:
        return &iv->client_ttft;
    case IV_SERVER_TTFT:
        return &iv->server_ttft;
    case IV_QUEUE_DELAY:
        return &iv->queue_delay;
    case IV_E2E:
        return &iv->e2e;
    case IV_TPOT:
        return &iv->tpot;
    case IV_GPU_EXECUTION:
        return &iv->gpu_execution;
    case IV_N:
        break;
    }
    INVARIANT(!"known interval");
    __builtin_unreachable();
}

const char *interval_formula(const struct intervals *iv, enum interval_id id) {
    switch (id) {
    case IV_CLIENT_TTFT:
        return "first_byte_received - request_submitted";
    case IV_SERVER_TTFT:
        return "first_token - request_accepted";
    case IV_QUEUE_DELAY:
        return "request_admitted - request_accepted";
    case IV_E2E:
        return "final_byte_received - request_submitted";
    case IV_TPOT:
        if (iv->tpot_boundary == TPOT_BROWSER_BYTES)
            return "(final_byte_received - first_byte_received) / (output_tokens - 1)";
        return "(last token_sent - first token_sent) / (output_tokens - 1)";
    case IV_GPU_EXECUTION:
        return "sum of (gpu_end - gpu_start)";
    case IV_N:
        break;
    }
    INVARIANT(!"known interval");
    __builtin_unreachable();
}
