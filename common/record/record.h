/* record.h: the request record, servelab's unit of evidence.
 *
 * One record holds what is known of one attempt of one request: its workload, its events (each a
 * timestamp with the clock it was read from and who read it), its outcome, and the verdict of a
 * named quality check. On disk it is one JSON object, schema "servelab.request-record.v1"; a log
 * holds one per line (JSONL):
 *
 *   {"schema": "servelab.request-record.v1", "request_id": "r-0001", "attempt": 1,
 *    "workload": {"model": "...", "prompt_tokens": 2048, "max_output_tokens": 256,
 *                 "output_tokens": 181, "decoding": "greedy"},
 *    "events": [{"event": "request_submitted", "clock": "browser", "t_ns": 1000000,
 *                "source": "browser", "clock_api": "performance.now"}, ...],
 *    "outcome": {"delivered": true, "http_status": 200, "finish_reason": "stop", "error": null},
 *    "quality": {"check": "key-recall/1", "verdict": "passed"},
 *    "structure": {"check": null, "verdict": "not_required"},
 *    "resources": {"gpu_seconds": null, "joules": null}, "statement": "..."}
 *
 * Unknown members are kept; unknown names of events, clocks, sources and verdicts are errors.
 *
 * Offers: the types, reading, writing, validation, the join of the server's and the browser's
 * halves. Refuses: to repair anything. A record that breaks a rule is an error with file, line and
 * field; a negative interval is never clamped. Intervals are computed in intervals.h, and whether a
 * request was useful in objective/classify.h.
 */
#ifndef SERVELAB_RECORD_RECORD_H
#define SERVELAB_RECORD_RECORD_H

#include "base/err.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define RECORD_SCHEMA "servelab.request-record.v1"

enum clock_id { CLOCK_BROWSER, CLOCK_SERVER, CLOCK_GPU, CLOCK_SIM, CLOCK_N };

/* In causal order for one attempt, as far as one clock can see it. */
enum event_kind {
    EV_REQUEST_SUBMITTED, /* client clock: immediately before the request is sent */
    EV_REQUEST_ACCEPTED, /* server clock: header read and an id given; the body is not parsed yet */
    EV_TOKENIZATION_FINISHED, /* prompt token ids exist */
    EV_REQUEST_ADMITTED, /* the scheduler gives it a batch position and KV blocks for the first time
                          */
    EV_REQUEST_PREEMPTED,
    EV_REQUEST_RESUMED,
    EV_FIRST_TOKEN, /* the first generated token id is known to the host */
    EV_TOKEN_SENT,  /* bytes handed to the HTTP library; `tokens` says how many tokens they carry */
    EV_FIRST_BYTE_RECEIVED, /* client clock: first body bytes that carry generated content */
    EV_RESPONSE_FINISHED,   /* the HTTP library reports the response complete */
    EV_FINAL_BYTE_RECEIVED, /* client clock: end of the body */
    EV_REQUEST_REJECTED,
    EV_REQUEST_CANCELLED,
    EV_REQUEST_FAILED,
    EV_GPU_START, /* `range` names the declared range */
    EV_GPU_END,
    EV_N
};

enum event_source {
    SRC_BROWSER,
    SRC_CLIENT, /* the built-in client that plays the browser */
    SRC_SERVER_LOG,
    SRC_SCHEDULER_LOG,
    SRC_CUDA_EVENT,
    SRC_PROFILER,
    SRC_SIMULATOR,
    SRC_AUTHORED,
    SRC_N
};

struct event {
    enum event_kind kind;
    enum clock_id clock;
    enum event_source source;
    int64_t t_ns;       /* monotonic nanoseconds of `clock`; 0 .. 2^53 */
    int32_t tokens;     /* EV_TOKEN_SENT: tokens in these bytes, >= 0; otherwise 0 */
    char clock_api[32]; /* "performance.now", "CLOCK_MONOTONIC", ... */
    char range[32];     /* EV_GPU_*: name of the range; otherwise "" */
    cJSON *extra; /* members we don't know; owned by the record, NULL when none; not for callers */
};

enum verdict { VERDICT_NOT_EVALUATED, VERDICT_PASSED, VERDICT_FAILED, VERDICT_NOT_REQUIRED };

/* A stated offset between two clocks: t_a - t_b = offset_ns +- uncertainty_ns. Only with one of
 * these may an interval have its ends on two clocks (JSON: "clock_offsets":
 * [{"a","b","offset_ns","uncertainty_ns"}]). */
struct clock_offset {
    enum clock_id a, b;
    int64_t offset_ns;
    int64_t uncertainty_ns;
};

struct record {
    char request_id[64]; /* groups the attempts of one user request */
    int32_t attempt;     /* 1, 2, ... */
    struct {
        char model[96];
        int32_t prompt_tokens;        /* -1 when unknown */
        int32_t max_output_tokens;    /* -1 when unknown */
        int32_t output_tokens;        /* as achieved and counted by the server; -1 when unknown */
        int32_t cached_prompt_tokens; /* of the prompt, found in the KV cache; -1 when unknown */
        char decoding[32];
        char paced[64]; /* "llama-2-7b on h100": the server kept a simulated machine's pace, and
                           every time is a simulated one; "" otherwise */
    } workload;
    struct event *events; /* in file order */
    size_t n_events;
    size_t cap_events; /* owned by record_add_event */
    struct clock_offset offsets[4];
    size_t n_offsets;
    struct {
        bool delivered;
        int32_t http_status;    /* 0 when null */
        char finish_reason[16]; /* "stop", "length", "tool_calls", ...; "" when null */
        char error[160]; /* "" when null; an in-band error is a non-empty text with http_status 200
                          */
    } outcome;
    struct {
        char check[48]; /* "key-recall/1"; "" when null */
        enum verdict verdict;
    } quality, structure;
    struct {
        double gpu_seconds; /* NaN when null */
        double joules;      /* NaN when null */
    } resources;
    char statement[240];
    /* Members we don't know, kept and written back; owned; NULL when none. Those of "workload",
     * "outcome", "quality", "structure" and "resources" stand under that name, those of
     * clock_offsets[i] at item i of "clock_offsets"; an event keeps its own. */
    cJSON *extra;
};

/* Sets every field to "absent". A record needs record_release after use and may then be initialised
 * again. */
void record_init(struct record *r);
void record_release(struct record *r);

/* Makes *to, which need not be initialised, an independent copy of *from, unknown members included.
 * -1 and *e when memory is out; then nothing is left to release. */
int record_copy(struct record *to, const struct record *from, struct err *e);

/* Appends a copy of *ev, without its `extra`. -1 when memory is out or the record already holds
 * RECORD_MAX_EVENTS. */
enum {
    RECORD_MAX_EVENTS = 200000
}; /* a bound for hostile input; 256 output tokens need about 270 */
int record_add_event(struct record *r, const struct event *ev, struct err *e);

/* The first event of a kind, or NULL. record_last_event: the last one. */
const struct event *record_event(const struct record *r, enum event_kind kind);
const struct event *record_last_event(const struct record *r, enum event_kind kind);

/* Reads one record from a parsed object into *r, which need not be initialised, and validates it
 * (record_validate). e->line is `first_line`: a tree has no lines. On error nothing is left to
 * release and -1 is returned.
 *
 * Required: schema, request_id, attempt, workload, events, outcome with delivered. Null and missing
 * mean the same for the rest. A text longer than its field in struct record is an error, never cut.
 */
int record_from_json(struct record *r, const cJSON *obj, int first_line, struct err *e);

/* The same from text: strict JSON, exactly one object. e->line is the line of the member. */
int record_parse(struct record *r, const char *text, size_t n, int first_line, struct err *e);

/* A new tree, or NULL when memory is out. Reading it back gives the same record, unknown members
 * included. Print it with json_print: cJSON's own printing writes 10^15 ns as 1e+15. */
cJSON *record_to_json(const struct record *r);

/* The rules of a record. 0, or -1 with e->field set to the member at fault:
 *   - request_id is not empty, attempt >= 1, every t_ns within 0 .. 2^53;
 *   - an event that may stand once stands once (all but token_sent, request_preempted,
 *     request_resumed, gpu_start, gpu_end);
 *   - each event is on its own clock (the table at enum event_kind), so that no interval crosses
 *     clocks. Two exceptions: a simulated record has every event on "sim"; and an event may be on
 *     another clock when clock_offsets relates the two. All events of one kind share a clock;
 *   - a clock is read through one clock_api, named, and not a wall clock (CLOCK_REALTIME, Date.now:
 *     those jump);
 *   - events of one clock are in causal order, whatever their order in the file;
 *   - a delivered record has the six events that make one; the client's three are enough when there
 *     is no other event (its server keeps no records);
 *   - a verdict of passed or failed names its check; tokens only on token_sent, range only on gpu
 *     events. */
int record_validate(const struct record *r, struct err *e);

/* Copies into `into` what `from` knows and it lacks: the join of the server's half and the
 * browser's half of one attempt. What both know must be equal; delivered is true when either half
 * says so. The result keeps record_validate's rules but for completeness: a third half may still be
 * on its way. -1 with *e set on a conflict; then `into` is unchanged. */
int record_join(struct record *into, const struct record *from, struct err *e);

/* Walks a file that holds one JSON object or a log with one record per line, in constant memory.
 * Calls `each` for every record in order; stops at the first error (-1) or when `each` returns
 * non-zero (which is then returned). log.h has the reader underneath, for what this is too simple
 * for. */
typedef int record_fn(const struct record *r, int line, void *ctx);
int record_each(const char *path, record_fn *each, void *ctx, struct err *e);

/* What record_append returns for a record that can't be a line of a log, now or later: it breaks a
 * rule, or its text isn't UTF-8. *e names the field. */
enum { RECORD_NEVER_A_LINE = -2 };

/* Appends one valid record as one line with one write(2) on a descriptor opened O_APPEND. log.h
 * says what that guarantees and how to open such a descriptor. 0; RECORD_NEVER_A_LINE; or -1 when
 * the log didn't take the line (the disk is full, memory is out), which another try may change. */
int record_append(int fd, const struct record *r, struct err *e);

const char *event_name(enum event_kind k); /* "request_submitted" */
int event_from_name(const char *name);     /* enum event_kind, or -1 */
const char *clock_name(enum clock_id c);
int clock_from_name(const char *name);
const char *source_name(enum event_source s);
int source_from_name(const char *name);
const char *verdict_name(enum verdict v);
int verdict_from_name(const char *name);

#endif
