/* exchange.h: one HTTP request and its reply, as the http_*.c files share it. Private to serve/.
 *
 * Life: the library's first call for a request makes the exchange; its last call, "completed",
 * frees it. All in the library's one thread, except what goes through stream.h and records.h.
 */
#ifndef SERVELAB_SERVE_EXCHANGE_H
#define SERVELAB_SERVE_EXCHANGE_H

#include "quality/questions.h"
#include "serve/buffer.h"
#include "serve/http.h"
#include "serve/http_watch.h"
#include "serve/openai.h"

#include <microhttpd.h>

enum { PRESETS_KEPT = 12 }; /* four seeds of three kinds: a classroom uses one or two */
struct preset {
    uint64_t seed;
    char *prompt; /* NULL: this place is free */
    struct question question;
};

struct http {
    struct http_options o;
    struct MHD_Daemon *daemon;
    struct watch *watch;
    int64_t started_s;                   /* wall clock, for "created" of the model */
    struct preset presets[PRESETS_KEPT]; /* the library's thread only, as is the next */
    int next_preset;
    pthread_mutex_t lock; /* guards the two below */
    int active;
    bool draining;
};

struct exchange;

struct route {
    const char *method;
    const char *path; /* whole path, or with `more` its beginning */
    const char *more; /* what follows the variable part: "/events", or "" */
    bool variable;
    size_t max_body;
    enum openai_api api;                        /* of completions */
    void (*begin)(struct exchange *x);          /* header read, body not; NULL for nothing to do */
    enum MHD_Result (*run)(struct exchange *x); /* the body is there; again after each resume */
};

struct exchange {
    struct http *h;
    struct MHD_Connection *connection;
    struct watched *watched;
    const struct route *route; /* NULL: there is no such route */
    const char *allow;         /* 405: the method that the path would take */
    char id[128];              /* the variable part of the path */
    struct buffer body;
    bool too_large, replied;
    bool unclear; /* the header contradicts itself about the body's end: 400, and closed */
    int status;

    /* completions only (completion.c) */
    struct live_record *live;
    char refusal[160], refusal_field[32]; /* decided while the header was read; "" for none */
    int refusal_status;
    struct stream *stream;
    int64_t seq_id;
    bool submitted;
    bool streamed; /* the client asked for a stream */
    struct openai_reply reply;
    int32_t prompt_tokens;
    struct buffer out; /* bytes for the library, from out_sent; they stand for out_tokens */
    size_t out_sent;
    int32_t out_tokens;
    bool began, ended;    /* the reply's first chunk was made; its last */
    char check[48];       /* X-Quality-Check, "" for none */
    struct buffer answer; /* the reply's text, kept only for that check */
};

/* ---- replies (http.c) ------------------------------------------------------------------------ */

/* Queues a reply of *b's bytes, which it takes over, with the headers every reply has. */
enum MHD_Result reply_bytes(struct exchange *x, int status, const char *type, struct buffer *b);
/* OpenAI's error object. type follows from the status; field and code may be NULL. */
enum MHD_Result reply_error(struct exchange *x, int status, const char *field, const char *code,
                            const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The same from an error of ours, its line and field included. */
enum MHD_Result reply_err(struct exchange *x, int status, const struct err *e);
/* A JSON tree, which it takes over; NULL is answered with 500. */
enum MHD_Result reply_tree(struct exchange *x, int status, cJSON *tree);
/* Adds what every reply carries and queues it. */
enum MHD_Result reply_queue(struct exchange *x, int status, struct MHD_Response *r);

const char *request_header(const struct exchange *x, const char *name);
const char *request_query(const struct exchange *x, const char *name);
/* Reads a decimal number of 1 .. 1,000,000; false for anything else. */
bool read_attempt(const char *text, int32_t *out);

/* ---- routes ---------------------------------------------------------------------------------- */

void completion_begin(struct exchange *x);
enum MHD_Result completion_run(struct exchange *x);
/* The exchange is over; `ok`: the reply went out whole. */
void completion_end(struct exchange *x, bool ok);

enum MHD_Result records_route_list(struct exchange *x);
enum MHD_Result records_route_get(struct exchange *x);
enum MHD_Result records_route_intervals(struct exchange *x);
enum MHD_Result records_route_post(struct exchange *x);

/* A file of the page; url begins with "/". */
enum MHD_Result files_route(struct exchange *x);

/* ---- presets (http_presets.c) ---------------------------------------------------------------- */

bool preset_valid_name(const char *name);
enum MHD_Result presets_route(struct exchange *x);
/* Judges x->answer by x->check, if there is one, and writes the verdict into the record. */
void preset_judge(struct exchange *x);
void presets_release(struct http *h);

#endif
