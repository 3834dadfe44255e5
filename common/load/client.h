/* client.h: sends one completion request over libcurl and stamps the client's events of it.
 *
 * The client plays the browser's part in a record: request_submitted, first_byte_received and
 * final_byte_received on clock "browser" (the name of the client's side), source "client". Inside
 * load/ all times are of CLOCK_MONOTONIC. What is written carries times of the client's clock
 * (load_clock_ns), whose zero isn't the server's: a difference across the two clocks is wrong by
 * hours, on one machine too.
 *
 * The stamps, and when each is taken:
 *   submitted  immediately before libcurl sends (connecting included, as in a browser)
 *   first      when the read arrived that completed the first event with generated text, taken
 *              before it is parsed. Reasoning counts as generated text; a chunk with a role alone
 *              or an empty text doesn't.
 *   answer     the same for the first text of the answer itself; equal to `first` where the server
 *              sends no reasoning
 *   final      when libcurl reports the end of the body
 * A stream that ends with neither a finish reason nor [DONE] is cut off: then `final` isn't
 * stamped, because the client never saw the end of the answer.
 *
 * Any server with OpenAI's routes will do. One that isn't servelab's keeps no record, so its record
 * holds the client's half alone (load_record).
 */
#ifndef SERVELAB_LOAD_CLIENT_H
#define SERVELAB_LOAD_CLIENT_H

#include "base/buffer.h"
#include "base/err.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    LOAD_MAX_REPLY = 64 * 1024 * 1024, /* of an answer's text, a record, an error */
    LOAD_ASK_S = 10, /* to connect, which --help states; and of what isn't a completion (models,
                        health, records): it takes milliseconds */
    LOAD_KEPT_S = 3  /* a connection idle for longer isn't used again: common servers close theirs
                        after 5 s, and a request that meets that end is lost */
};

/* CLOCK_MONOTONIC reads so much less than the client's clock. The same in each process: clients on
 * one machine have one clock. (A report is on one run all the same: report/run_read.h.) */
#define LOAD_CLOCK_AHEAD_NS INT64_C(97531246801357)

/* A time of CLOCK_MONOTONIC, on the client's clock. Every time that leaves load/ goes through it.
 */
static inline int64_t load_clock_ns(int64_t monotonic_ns) {
    return monotonic_ns + LOAD_CLOCK_AHEAD_NS;
}

struct load_client {
    const char *url;  /* "http://127.0.0.1:8080", no slash at its end */
    int timeout_s;    /* for a whole request */
    void *curl;       /* its connection is kept from request to request */
    bool connected;   /* by the last load_json, whether or not an answer came */
    bool late;        /* the last load_json waited load_ask_s for its answer in vain */
    char advice[260]; /* where the last load_json was redirected: load_redirect's; or "" */
};

/* How long load_json waits, and a connection may take. */
static inline int load_ask_s(const struct load_client *c) {
    return c->timeout_s < LOAD_ASK_S ? c->timeout_s : LOAD_ASK_S;
}

struct load_request {
    const char *model;
    const char *prompt; /* text, or NULL when ids are given; neither has to be short */
    const int32_t *ids; /* (n_ids) */
    int32_t n_ids;
    bool chat;          /* text as one user message to /v1/chat/completions */
    int32_t max_tokens; /* 0: the server's default */
    double temperature;
    bool has_seed;
    int64_t seed;
    bool ignore_eos;
    char check[48]; /* X-Quality-Check: the check and the preset by which the server judges the
                       answer: "key-recall/1:7"; "" for none */
    char request_id[64];
    int32_t attempt;
    int64_t scheduled_ns; /* when it should have been sent; 0: it has no schedule */
    bool keep_chunks;     /* fill seen->chunk_ns */
    FILE *echo;           /* the answer's text is written there as it comes; NULL: nowhere */
    bool progress;        /* after two seconds, show on stderr that the request goes on */
};

/* The client's observations of one request. A stamp that wasn't taken is -1. */
struct load_seen {
    int64_t submitted_ns, first_ns, answer_ns, final_ns;
    int64_t last_ns;     /* the last text; usage and [DONE] may follow it */
    int64_t ended_ns;    /* the transfer's end, whether the answer was whole or not */
    int32_t http_status; /* 0: no answer */
    bool keeps_records;  /* the reply has X-Attempt, as every servelab server's has */
    bool saw_finish, saw_done, cut_off, timed_out, resent;
    bool no_connection; /* it timed out before there was one */
    bool broken;        /* the problem is the connection's, not one that the server stated */
    char finish_reason[16];
    int32_t prompt_tokens, output_tokens;     /* the server's usage, -1 when it gave none */
    int32_t content_chunks, reasoning_chunks; /* with text of the answer; with reasoning */
    char problem[300];                        /* one sentence; "" when all went well */
    struct buffer text;                       /* the answer */
    int64_t *chunk_ns;                        /* of each chunk with text, when its read came */
    size_t n_chunks, cap_chunks;
};

/* Copies an address without the slashes at its end, and without a last "/v1", which OpenAI's own
 * clients want there. -1 and *e: nothing is left, or it doesn't fit. */
int load_base_url(const char *url, char *out, size_t cap, struct err *e);

int load_client_init(struct load_client *c, const char *url, int timeout_s, struct err *e);
void load_client_release(struct load_client *c);

/* Sends the request and reads the answer to its end. 0: a problem of the server or the network is
 * in seen->problem; the caller calls load_seen_release. -1 and *e: nothing was sent (no memory). */
int load_complete(struct load_client *c, const struct load_request *r, struct load_seen *seen,
                  struct err *e);
void load_seen_release(struct load_seen *seen);

/* The same in steps, for a caller that drives many at once over libcurl's multi interface:
 *   open      sets up `curl`, an easy handle of the caller's, for *r; *r and *seen stay where they
 *             are until it is freed. NULL and *e when memory is out
 *   sent      call it immediately before the handle is given to libcurl: stamps `submitted`
 *   conclude  when libcurl is done with it, with its CURLcode: completes *seen
 *   free      `curl` is the caller's again
 * A request is sent once: where libcurl would send it again because a kept connection had died, it
 * ends with a problem instead, so that no attempt is hidden. */
struct load_transfer;
struct load_transfer *load_transfer_open(const struct load_client *c, void *curl,
                                         const struct load_request *r, struct load_seen *seen,
                                         struct err *e);
void load_transfer_sent(struct load_transfer *t);
void load_transfer_conclude(struct load_transfer *t, int curl_code);
void load_transfer_free(struct load_transfer *t);

/* The client's half as JSON: {"attempt", "events"}. */
cJSON *load_half(const struct load_request *r, const struct load_seen *seen);

/* The record of the client's half alone: for a server that keeps none. request_submitted carries
 * "scheduled_t_ns" where the request was scheduled. */
cJSON *load_own_record(const struct load_request *r, const struct load_seen *seen,
                       const cJSON *half);

/* Posts the client's half and fetches the joined record. A server that keeps no records is not
 * asked. One that keeps them may be gone or hang by now, or refuse: then why->text says so in one
 * sentence, otherwise it is "". Without the server's half, the record holds the client's half
 * alone, is delivered when its three events are there and nothing went wrong, and has a member
 * "client" with "answer_ttft_ns" (request_submitted to the first text of the answer;
 * null without one), "answer_chunks" and "reasoning_chunks", "problem" (null or a sentence; one
 * that isn't the server's own is no in-band error and therefore not in "outcome"), and where the
 * chunks were kept "chunk_gaps_ns", the times between one and the next. */
cJSON *load_record(struct load_client *c, const struct load_request *r,
                   const struct load_seen *seen, struct err *why);

/* Does a server's record have the client's half as it was posted: the same request, attempt and
 * times? If not, its latencies aren't what the client measured. */
struct record;
bool load_has_half(const struct record *record, const struct load_request *r,
                   const struct load_seen *seen);

/* Turns a record into an exercise: "TODO" for provenance, statement and the source of each event of
 * lab 01's six. Other events keep their sources. */
void load_blank(cJSON *record);

/* GET, or POST of `body` when it isn't NULL, to url + path. Returns the HTTP status, or -1 and *e
 * when there was no answer. *reply (may be NULL) gets the answer's JSON; NULL when it isn't JSON.
 */
int load_json(struct load_client *c, const char *path, const cJSON *body, cJSON **reply,
              struct err *e);

/* -1, and *e: the last load_json, GET /v1/models, gave this HTTP status, and no model. */
int load_no_model(const struct load_client *c, int status, struct err *e);

/* What to do about the redirect that `curl` met when it asked for `path`: "; give --url ..." where
 * it leads to the same path of another address, otherwise where it leads; "" without one. */
void load_redirect(const struct load_client *c, void *curl, const char *path, char *text,
                   size_t cap);

/* Sets the options of `curl` that every request of this client has; headers is libcurl's list,
 * which the caller keeps. load_prepare_ask: for what isn't a completion, LOAD_ASK_S at most. For
 * the other files of load/. */
void load_prepare(const struct load_client *c, void *curl, const char *url, void *headers);
void load_prepare_ask(const struct load_client *c, void *curl, const char *url, void *headers);

#endif
