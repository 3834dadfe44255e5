/* client.h: one completion as a client sees it, over libcurl, with the client's own clock.
 *
 * It plays the browser's part in a record: request_submitted, first_byte_received,
 * final_byte_received on clock "browser" (which names the client's side, whoever the client is),
 * source "client", read through CLOCK_MONOTONIC. Both clocks of a record then happen to be one and
 * the same on one machine, and are still never subtracted.
 *
 * What it stamps, and when:
 *   submitted  immediately before libcurl is told to send (connecting included, as in a browser)
 *   first      when the read arrived that completed the first event with generated content, taken
 *              before anything of it is parsed; a role-only or empty chunk doesn't count (M1)
 *   final      when libcurl reports the end of the body
 * A stream that ends with neither a finish reason nor [DONE] is cut off (M15): then the answer's
 * end was never seen, and `final` isn't stamped.
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
    LOAD_MAX_REPLY = 64 * 1024 * 1024, /* whatever isn't a stream: a record, an error */
    LOAD_CONNECT_S = 10
};

struct load_client {
    const char *url; /* "http://127.0.0.1:8080", no slash at its end */
    int timeout_s;   /* for a whole request */
    void *curl;      /* its connection is kept from request to request */
};

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
    char check[48]; /* "key-recall/1:7": the server judges the answer (X-Quality-Check); "" for none
                     */
    char request_id[64];
    int32_t attempt;
    FILE *echo;    /* where the text goes as it comes, or NULL */
    bool progress; /* say on stderr that something is going on, after two seconds */
};

/* What was seen of one request. Stamps that weren't taken are -1. */
struct load_seen {
    int64_t submitted_ns, first_ns, final_ns;
    int32_t http_status; /* 0: no answer */
    bool saw_finish, saw_done, cut_off;
    char finish_reason[16];
    int32_t prompt_tokens, output_tokens; /* the server's usage, -1 when it gave none */
    int32_t content_chunks;
    char problem[300]; /* one sentence; "" when all went well */
    struct buffer text;
};

int load_client_init(struct load_client *c, const char *url, int timeout_s, struct err *e);
void load_client_release(struct load_client *c);

/* Sends the request, reads the answer to its end. Problems of the server's or the network's are in
 * *seen; -1 and *e only when nothing could be sent (memory). load_seen_release after 0. */
int load_complete(struct load_client *c, const struct load_request *r, struct load_seen *seen,
                  struct err *e);
void load_seen_release(struct load_seen *seen);

/* The client's half as JSON: {"attempt", "events", "statement"}. */
cJSON *load_half(const struct load_request *r, const struct load_seen *seen);

/* Posts the client's half and fetches the joined record; of a server that has no record routes, the
 * record holds the client's half alone. NULL and *e on failure. */
cJSON *load_record(struct load_client *c, const struct load_request *r,
                   const struct load_seen *seen, struct err *e);

/* GET, or POST of `body` when it isn't NULL, to url + path. The status, or -1 and *e when there was
 * no answer. *reply (may be NULL) gets the parsed JSON of the answer, NULL when it was none. */
int load_json(struct load_client *c, const char *path, const cJSON *body, cJSON **reply,
              struct err *e);

/* What every request of this client has in common. Private to client*.c; headers is libcurl's list,
 * which the caller keeps. */
void load_prepare(struct load_client *c, const char *url, void *headers);

#endif
