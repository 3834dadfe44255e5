/* names.c: the names used in records and their numbers. See record.h. */
#include "record/record_internal.h"

#include <string.h>

static const char *const event_names[EV_N] = {
    [EV_REQUEST_SUBMITTED] = "request_submitted",
    [EV_REQUEST_ACCEPTED] = "request_accepted",
    [EV_TOKENIZATION_FINISHED] = "tokenization_finished",
    [EV_REQUEST_ADMITTED] = "request_admitted",
    [EV_REQUEST_PREEMPTED] = "request_preempted",
    [EV_REQUEST_RESUMED] = "request_resumed",
    [EV_FIRST_TOKEN] = "first_token",
    [EV_TOKEN_SENT] = "token_sent",
    [EV_FIRST_BYTE_RECEIVED] = "first_byte_received",
    [EV_RESPONSE_FINISHED] = "response_finished",
    [EV_FINAL_BYTE_RECEIVED] = "final_byte_received",
    [EV_REQUEST_REJECTED] = "request_rejected",
    [EV_REQUEST_CANCELLED] = "request_cancelled",
    [EV_REQUEST_FAILED] = "request_failed",
    [EV_GPU_START] = "gpu_start",
    [EV_GPU_END] = "gpu_end",
};

static const char *const clock_names[CLOCK_N] = {
    [CLOCK_BROWSER] = "browser",
    [CLOCK_SERVER] = "server",
    [CLOCK_GPU] = "gpu",
    [CLOCK_SIM] = "sim",
};

static const char *const source_names[SRC_N] = {
    [SRC_BROWSER] = "browser",       [SRC_CLIENT] = "client",
    [SRC_SERVER_LOG] = "server_log", [SRC_SCHEDULER_LOG] = "scheduler_log",
    [SRC_CUDA_EVENT] = "cuda_event", [SRC_PROFILER] = "profiler",
    [SRC_SIMULATOR] = "simulator",   [SRC_AUTHORED] = "authored",
};

static const char *const verdict_names[] = {
    [VERDICT_NOT_EVALUATED] = "not_evaluated",
    [VERDICT_PASSED] = "passed",
    [VERDICT_FAILED] = "failed",
    [VERDICT_NOT_REQUIRED] = "not_required",
};
enum { VERDICT_COUNT = sizeof verdict_names / sizeof *verdict_names };

static int find(const char *const *names, int count, const char *p, size_t n) {
    for (int i = 0; i < count; i++)
        if (strlen(names[i]) == n && !memcmp(names[i], p, n)) return i;
    return -1;
}

int event_from_bytes(const char *p, size_t n) {
    return find(event_names, EV_N, p, n);
}
int clock_from_bytes(const char *p, size_t n) {
    return find(clock_names, CLOCK_N, p, n);
}
int source_from_bytes(const char *p, size_t n) {
    return find(source_names, SRC_N, p, n);
}
int verdict_from_bytes(const char *p, size_t n) {
    return find(verdict_names, VERDICT_COUNT, p, n);
}

int event_from_name(const char *name) {
    return event_from_bytes(name, strlen(name));
}
int clock_from_name(const char *name) {
    return clock_from_bytes(name, strlen(name));
}
int source_from_name(const char *name) {
    return source_from_bytes(name, strlen(name));
}
int verdict_from_name(const char *name) {
    return verdict_from_bytes(name, strlen(name));
}

const char *event_name(enum event_kind k) {
    INVARIANT((unsigned)k < EV_N);
    return event_names[k];
}
const char *clock_name(enum clock_id c) {
    INVARIANT((unsigned)c < CLOCK_N);
    return clock_names[c];
}
const char *source_name(enum event_source s) {
    INVARIANT((unsigned)s < SRC_N);
    return source_names[s];
}
const char *verdict_name(enum verdict v) {
    INVARIANT((unsigned)v < VERDICT_COUNT);
    return verdict_names[v];
}
