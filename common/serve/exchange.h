/* exchange.h: the state of one HTTP request and its reply, shared by the files that serve HTTP.
 * Private to serve/.
 *
 * The library's first call for a request creates the exchange; its last call, `completed`, frees
 * it (http.c). Everything runs in the library's one thread; the engine's thread is reached through
 * stream.h and records.h only.
 */
#ifndef SERVELAB_SERVE_EXCHANGE_H
#define SERVELAB_SERVE_EXCHANGE_H

#include "base/buffer.h"
#include "quality/questions.h"
#include "serve/http_listen.h"
#include "serve/http_reader.h"
#include "serve/http_watch.h"
#include "serve/openai.h"

#include <microhttpd.h>

enum { PRESETS_KEPT = 128 }; /* 32 seeds of four kinds: the checkable share of a load test */
struct preset {
    uint64_t seed;
    char *prompt; /* NULL: this place is free */
    struct question question;
};

struct http {
    struct http_options o;
    struct MHD_Daemon *daemon;
    struct socket_file socket; /* of a Unix socket */
    struct watch *watch;
    struct reader *reader;
    int64_t started_s;                   /* wall clock, for "created" of the model */
    struct preset presets[PRESETS_KEPT]; /* the library's thread only, as is the next */
    int next_preset;
    pthread_mutex_t lock; /* guards all below */
    int active;     /* exchanges that are not over, but for those that began while it drains */
    int unanswered; /* of these the completions, but for those that the gate has refused: their
                       connections linger */
    bool draining, stopping;
};

struct exchange;
struct prompt; /* completion.c's: the token ids of one prompt */

/* The functions that serve a request, phase by phase. `read` reads the body; for a long one it runs
 * on the reader's thread (http_reader.h), so it makes no call of the library. `run` is called once;
 * it queues the reply, or it suspends the connection and `resumed`, called once after the resume,
 * queues the reply. */
struct route {
    const char *method;
    const char *path; /* whole path; with `variable` its beginning */
    const char *more; /* the path after the variable part, such as "/events"; NULL: none */
    bool variable;
    size_t max_body;                                /* 0: reads no body */
    enum openai_api api;                            /* of completions */
    void (*begin)(struct exchange *x);              /* the header is read; NULL: nothing to do */
    void (*read)(struct exchange *x);               /* the body is there; NULL: nothing to do */
    enum MHD_Result (*run)(struct exchange *x);     /* the body was read */
    enum MHD_Result (*resumed)(struct exchange *x); /* NULL: `run` never suspends */
    void (*end)(struct exchange *x, bool ok); /* the exchange is over; `ok`: the reply went out
                                                 whole; NULL: nothing to do */
};

/* One answer of a completion. */
struct choice {
    struct live_record *live; /* the first choice's is the exchange's */
    struct stream *stream;
    int64_t seq_id;
    bool submitted;
    int32_t prompt_tokens, sent_tokens;
    struct buffer echo;          /* the prompt's text, sent before the answer's; empty for none */
    struct openai_scores scores; /* for log-probabilities, where they are asked for */
    struct buffer held;          /* text that may become a tool call, of held_tokens tokens */
    int32_t held_tokens;
    bool is_text;       /* it is none */
    int32_t out_tokens; /* so many of its tokens are in the exchange's `out` */
    bool began, ended;  /* its first chunk was made; its last */
};

struct exchange {
    struct http *h;
    struct MHD_Connection *connection;
    int fd; /* the connection's */
    struct watched *watched;
    const struct route *route; /* NULL: there is no such route */
    const char *allow;         /* for 405 and OPTIONS: the methods that the path takes */
    char id[512];              /* the variable part of the path */
    struct buffer body;
    bool was_read, ran, replied;   /* ran: route->run was called */
    bool unread;                   /* the server stops: route->read was not called */
    struct exchange *next_to_read; /* the reader's (http_reader.c) */
    struct err fault;              /* what route->read found */
    int fault_status;              /* 0: 400 */
    int status;                    /* of the reply; 0: none was queued */
    bool active, unanswered;       /* counted in http's; its lock guards both */

    /* completions only (completion.c) */
    struct live_record *live;
    char refusal[160], refusal_field[32]; /* decided while the header was read; "" for none */
    int refusal_status;
    struct openai_request request; /* after completion_read without a fault */
    struct prompt *prompts; /* (request.n_prompts); owned. NULL: x->fault, or another model */
    struct choice *choices; /* (n_choices), prompt by prompt; owned */
    int32_t n_choices, n_per_prompt, turn; /* turn: whose part is looked for next */
    bool streamed;                         /* the client asked for a stream */
    bool logprobs;
    cJSON *tools; /* an answer may be a call of one of these; owned, or NULL */
    struct openai_reply reply;
    struct buffer out; /* bytes for the library from out_sent on */
    size_t out_sent;
    bool ended;           /* the reply's last part was made */
    char check[48];       /* X-Quality-Check, "" for none */
    struct buffer answer; /* the first choice's text, kept only for that check */
};

/* Sets x->route; or x->allow when the path takes other methods only (http_router.c). */
void route_find(struct exchange *x, const char *method, const char *target);

/* ---- routes ---------------------------------------------------------------------------------- */

/* The phases of a completion (completion.c, completion_reply.c). */
void completion_begin(struct exchange *x);
void completion_read(struct exchange *x);
void completion_release_request(struct exchange *x);
enum MHD_Result completion_start(struct exchange *x);
enum MHD_Result completion_reply(struct exchange *x);
void completion_end(struct exchange *x, bool ok);
/* The gate has answered with this status before the body was there (http_gate.h); any thread. */
void completion_refused(struct exchange *x, int status, const char *why);
/* Stamps the records of all choices, or the exchange's alone before there are choices; sets their
 * outcome.error unless `error` is NULL. */
void completion_stamp(struct exchange *x, void (*how)(struct record *, const struct clock *),
                      const char *error);

enum MHD_Result models_route_list(struct exchange *x);
enum MHD_Result models_route_get(struct exchange *x);
enum MHD_Result health_route(struct exchange *x);
enum MHD_Result metrics_route(struct exchange *x);
enum MHD_Result version_route(struct exchange *x);
enum MHD_Result openapi_route(struct exchange *x);

void tokenize_read(struct exchange *x);
void detokenize_read(struct exchange *x);
enum MHD_Result tokens_route(struct exchange *x); /* replies for both */

enum MHD_Result records_route_list(struct exchange *x);
enum MHD_Result records_route_get(struct exchange *x);
enum MHD_Result records_route_intervals(struct exchange *x);
enum MHD_Result records_route_post(struct exchange *x);

/* A file of the page, whose name is x->id. */
enum MHD_Result files_route(struct exchange *x);
bool files_has(const struct exchange *x);

enum MHD_Result presets_route(struct exchange *x);

/* ---- presets, for completions (http_presets.c) ----------------------------------------------- */

/* Is it a check and a preset's seed, such as "key-recall/1:7"? */
bool preset_valid_name(const char *name);
/* Judges x->answer by x->check, if there is one, and writes the verdict into the record. */
void preset_judge(struct exchange *x);
void presets_release(struct http *h);

#endif
