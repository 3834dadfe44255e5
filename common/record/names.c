/* names.c: the names that stand in records, and their numbers. One table each; see record.h. */
#include "record/record_internal.h"

#include <string.h>

/* The length stands beside the name: a log of a million records looks up 20 million names. */
struct name {
    const char *text;
    size_t length;
};
#define NAME(text)                                                                                 \
    { text, sizeof text - 1 }

static const struct name event_names[EV_N] = {
    [EV_REQUEST_SUBMITTED] = NAME("request_submitted"),
    [EV_REQUEST_ACCEPTED] = NAME("request_accepted"),
    [EV_TOKENIZATION_FINISHED] = NAME("tokenization_finished"),
    [EV_REQUEST_ADMITTED] = NAME("request_admitted"),
    [EV_REQUEST_PREEMPTED] = NAME("request_preempted"),
    [EV_REQUEST_RESUMED] = NAME("request_resumed"),
    [EV_FIRST_TOKEN] = NAME("first_token"),
    [EV_TOKEN_SENT] = NAME("token_sent"),
    [EV_FIRST_BYTE_RECEIVED] = NAME("first_byte_received"),
    [EV_RESPONSE_FINISHED] = NAME("response_finished"),
    [EV_FINAL_BYTE_RECEIVED] = NAME("final_byte_received"),
    [EV_REQUEST_REJECTED] = NAME("request_rejected"),
    [EV_REQUEST_CANCELLED] = NAME("request_cancelled"),
    [EV_REQUEST_FAILED] = NAME("request_failed"),
    [EV_GPU_START] = NAME("gpu_start"),
    [EV_GPU_END] = NAME("gpu_end"),
};

static const struct name clock_names[CLOCK_N] = {
    [CLOCK_BROWSER] = NAME("browser"),
    [CLOCK_SERVER] = NAME("server"),
    [CLOCK_GPU] = NAME("gpu"),
    [CLOCK_SIM] = NAME("sim"),
};

static const struct name source_names[SRC_N] = {
    [SRC_BROWSER] = NAME("browser"),       [SRC_CLIENT] = NAME("client"),
    [SRC_SERVER_LOG] = NAME("server_log"), [SRC_SCHEDULER_LOG] = NAME("scheduler_log"),
    [SRC_CUDA_EVENT] = NAME("cuda_event"), [SRC_PROFILER] = NAME("profiler"),
    [SRC_SIMULATOR] = NAME("simulator"),   [SRC_AUTHORED] = NAME("authored"),
};

static const struct name verdict_names[] = {
    [VERDICT_NOT_EVALUATED] = NAME("not_evaluated"),
    [VERDICT_PASSED] = NAME("passed"),
    [VERDICT_FAILED] = NAME("failed"),
    [VERDICT_NOT_REQUIRED] = NAME("not_required"),
};
enum { VERDICT_COUNT = sizeof verdict_names / sizeof *verdict_names };

static int find(const struct name *names, int count, const char *p, size_t n) {
    for (int i = 0; i < count; i++)
        if (names[i].length == n && !memcmp(names[i].text, p, n)) return i;
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
    return event_names[k].text;
}
const char *clock_name(enum clock_id c) {
    INVARIANT((unsigned)c < CLOCK_N);
    return clock_names[c].text;
}
const char *source_name(enum event_source s) {
    INVARIANT((unsigned)s < SRC_N);
    return source_names[s].text;
}
const char *verdict_name(enum verdict v) {
    INVARIANT((unsigned)v < VERDICT_COUNT);
    return verdict_names[v].text;
}
