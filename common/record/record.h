/* record.h: the request record: all that is known of one attempt of one request, in memory and as
 * JSON.
 *
 * A record holds its workload, its events (each a timestamp with the clock it was read from and the
 * program that read it), its outcome, and the verdict of a named quality check. It is one JSON
 * object, schema "servelab.request-record.v1"; a log holds one per line (JSONL):
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
 * resources.joules of the server: the GPU's energy while the request ran, by NVML
 * (backend/energy.h); requests that run together have equal shares, and what an idle GPU uses is
 * nobody's.
 *
 * Required members: schema, request_id, attempt, workload, events, outcome and its delivered; of an
 * event event, clock, t_ns, source and clock_api (and tokens of token_sent, range of a gpu event);
 * of quality and structure the verdict; of a clock offset all four. For every other member null
 * means the same as leaving it out. Unknown members are kept and written back. Unknown names of
 * events, clocks, sources and verdicts are errors.
 *
 * Timestamps are whole nanoseconds of a monotonic clock. Six events make a record of a delivered
 * request: request_submitted, request_accepted, request_admitted, first_token, first_byte_received
 * and final_byte_received. A record that is not delivered may lack some; then the intervals that
 * need them are absent, the request is incomplete, and the record is still valid.
 *
 * Here: the types, reading, writing, validation, and the join of the server's and the client's
 * halves. Nothing is repaired: a record that breaks a rule is an error with file, line and field.
 * Intervals are computed in record/intervals.h; whether a request was useful, in
 * objective/classify.h.
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

/* In the causal order of one attempt, as far as one clock can show it. A comment begins with the
 * kind's clock; it is the server's where none is named. */
enum event_kind {
    EV_REQUEST_SUBMITTED, /* browser clock: immediately before the request is sent */
    EV_REQUEST_ACCEPTED, /* the header is read and the request has an id; the body is not parsed yet
                          */
    EV_TOKENIZATION_FINISHED, /* the prompt's token ids exist */
    EV_REQUEST_ADMITTED, /* the scheduler gives it a batch position and KV blocks for the first time
                          */
    EV_REQUEST_PREEMPTED, /* it loses its batch position */
    EV_REQUEST_RESUMED,   /* it gets a batch position again */
    EV_FIRST_TOKEN,       /* the host knows the first generated token id */
    EV_TOKEN_SENT, /* bytes are handed to the HTTP library; `tokens`: how many tokens they carry */
    EV_FIRST_BYTE_RECEIVED, /* browser clock: the first body bytes with generated content arrive */
    EV_RESPONSE_FINISHED,   /* the HTTP library reports that the response is complete */
    EV_FINAL_BYTE_RECEIVED, /* browser clock: the end of the body arrives */
    EV_REQUEST_REJECTED,    /* these three: it ends without a delivered response */
    EV_REQUEST_CANCELLED,
    EV_REQUEST_FAILED,
    EV_GPU_START, /* gpu clock: a declared range begins; `range` is its name */
    EV_GPU_END,
    EV_N
};

/* The program that read the clock. */
enum event_source {
    SRC_BROWSER,
    SRC_CLIENT, /* the built-in client, in the role of the browser */
    SRC_SERVER_LOG,
    SRC_SCHEDULER_LOG,
    SRC_CUDA_EVENT,
    SRC_PROFILER,
    SRC_SIMULATOR,
    SRC_AUTHORED, /* written by hand */
    SRC_N
};

struct event {
    enum event_kind kind;
    enum clock_id clock;
    enum event_source source;
    int64_t t_ns;       /* nanoseconds of `clock`, which is monotonic; 0 .. 2^53 */
    int32_t tokens;     /* EV_TOKEN_SENT: tokens in these bytes, >= 0; 0 for other kinds */
    char clock_api[32]; /* "performance.now", "CLOCK_MONOTONIC", ... */
    char range[32];     /* EV_GPU_*: name of the range; "" for other kinds */
    cJSON *extra;       /* unknown members; owned by the record; NULL: none */
};

enum verdict { VERDICT_NOT_EVALUATED, VERDICT_PASSED, VERDICT_FAILED, VERDICT_NOT_REQUIRED };

/* A stated offset between two clocks: t_a - t_b = offset_ns +- uncertainty_ns. An interval may have
 * its ends on two clocks only if the record states their offset (JSON: "clock_offsets": [{"a", "b",
 * "offset_ns", "uncertainty_ns"}]). */
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
        int32_t output_tokens;        /* generated, as counted by the server; -1 when unknown */
        int32_t cached_prompt_tokens; /* of the prompt, found in the KV cache; -1 when unknown */
        /* Speculative decoding; -1 when unknown or off. draft_tokens - accepted_draft_tokens were
         * computed for nothing. */
        int32_t draft_steps;  /* steps of the target that checked drafted tokens */
        int32_t draft_tokens; /* tokens that a draft model proposed and the target checked */
        int32_t accepted_draft_tokens; /* of them, those that saved a step of the target */
        char decoding[32];
        char paced[64]; /* "llama-2-7b on h100": the server kept a simulated machine's pace, and
                           every time is a simulated one; "" otherwise */
    } workload;
    struct event *events; /* in file order */
    size_t n_events;
    size_t cap_events; /* allocated; used by record_add_event */
    struct clock_offset offsets[4];
    size_t n_offsets;
    struct {
        bool delivered;
        int32_t http_status;    /* 0 when null */
        char finish_reason[16]; /* "stop", "length", "tool_calls", ...; "" when null */
        char error[160]; /* "" when null; with http_status 200 an error inside the response */
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
    /* Unknown members, kept and written back; owned; NULL: none. Unknown members of "workload",
     * "outcome", "quality", "structure" and "resources" are under that name, those of
     * clock_offsets[i] at item i of "clock_offsets"; an event has its own. */
    cJSON *extra;
};

/* record_init sets every field to its absent value. After record_release the record may be
 * initialised again. */
void record_init(struct record *r);
void record_release(struct record *r);

/* Makes *to, which need not be initialised, an independent copy of *from, unknown members included.
 * -1 and *e when memory is out; then nothing is left to release. */
int record_copy(struct record *to, const struct record *from, struct err *e);

/* Appends a copy of *ev, without its `extra`. 0, or -1 when memory is out or the record has
 * RECORD_MAX_EVENTS. */
enum {
    RECORD_MAX_EVENTS = 200000
}; /* a bound for hostile input; a request of 256 output tokens has about 270 */
int record_add_event(struct record *r, const struct event *ev, struct err *e);

/* The first event of a kind, or NULL; record_last_event: the last one. */
const struct event *record_event(const struct record *r, enum event_kind kind);
const struct event *record_last_event(const struct record *r, enum event_kind kind);

/* Reads one record from a parsed object into *r, which need not be initialised, and validates it
 * (record_validate). 0; or -1 and *e, and nothing is left to release. e->line is `first_line`: a
 * tree has no lines. A text longer than its field in struct record is an error; it is not cut. */
int record_from_json(struct record *r, const cJSON *obj, int first_line, struct err *e);

/* The same from text, which must be exactly one object in strict JSON. e->line is the line of the
 * member. */
int record_parse(struct record *r, const char *text, size_t n, int first_line, struct err *e);

/* A new tree, or NULL when memory is out. Reading it back gives the same record, unknown members
 * included. Print it with json_print: cJSON alone would write 10^15 ns as 1e+15. */
cJSON *record_to_json(const struct record *r);

/* The rules of a record. 0, or -1 with e->field set to the member at fault:
 *   - request_id is not empty, attempt >= 1, every t_ns within 0 .. 2^53;
 *   - an event occurs at most once, except token_sent, request_preempted, request_resumed,
 *     gpu_start and gpu_end;
 *   - each event is on its own clock (the table at enum event_kind), so that no interval crosses
 *     clocks. Two exceptions: a simulated record has every event on "sim"; and an event may be on
 *     another clock when clock_offsets relates the two. All events of one kind share a clock;
 *   - a clock is read through one clock_api, named, and not a wall clock (CLOCK_REALTIME, Date.now:
 *     those jump);
 *   - events of one clock are in causal order by their times; their order in the file is free;
 *   - a delivered record has the six events that make one; the client's three are enough when there
 *     is no other event (its server keeps no records);
 *   - a verdict of passed or failed names its check; tokens only on token_sent, range only on gpu
 *     events. */
int record_validate(const struct record *r, struct err *e);

/* Joins the server's half and the client's half of one attempt: copies into *into the values that
 * only *from has. Values that both have must be equal; delivered is true if either half says so.
 * The result keeps the rules of record_validate except that of the six events: another half may
 * follow. 0; or -1 and *e on a conflict, and *into is unchanged. */
int record_join(struct record *into, const struct record *from, struct err *e);

/* Calls `each` for every record of a file in order, in constant memory. The file holds one JSON
 * object, or a log with one record per line. Stops at the first error (-1) or when `each` returns
 * non-zero (which is returned). For torn lines and progress use the reader in record/log.h. */
typedef int record_fn(const struct record *r, int line, void *ctx);
int record_each(const char *path, record_fn *each, void *ctx, struct err *e);

/* record_append returns this for a record that can never be a line of a log: it breaks a rule, or
 * its text is not UTF-8. *e names the field. */
enum { RECORD_NEVER_A_LINE = -2 };

/* Appends one valid record as one line with one write(2) to a descriptor opened with O_APPEND
 * (record/log.h: what that guarantees, and how to open one). 0; RECORD_NEVER_A_LINE; or -1 when the
 * log did not take the line (the disk is full, memory is out) and another try may succeed. */
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
