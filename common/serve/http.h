/* http.h: serves completions, request records and the classroom page over HTTP, with libmicrohttpd.
 *
 *   POST /v1/chat/completions, /v1/completions   OpenAI's shapes, streamed or whole (completion.c)
 *   GET  /v1/models, /health, /version, /openapi.json (these routes in OpenAPI's form)
 *   GET  /metrics                Prometheus text (metrics.h)
 *   POST /tokenize, /detokenize  text to token ids and back, in vLLM's shapes (http_tokens.c)
 *   GET  /v1/presets             prompts with a checkable answer (http_presets.c)
 *   POST /v1/records/{id}/events                 the client's half of a record (http_records.c)
 *   GET  /v1/records, /v1/records/{id}, /v1/records/{id}/intervals   (?attempt=N, otherwise the
 *        last; ?if_known=1: 204 instead of 404 for a record that isn't there, or not yet)
 *   GET  /, /FILE                                the classroom page (http_files.c)
 *
 * HEAD answers wherever GET does, without the body. OPTIONS names a path's methods, and answers a
 * browser's preflight when another origin is let in (http_cors.h).
 *
 * A completion passes http.c, http_router.c, completion.c, openai.c, engine.c and engine_step.c, in
 * this order. A request for several answers has a record for each: ID, ID-1, ID-2, ...
 * (completion.c). Text comes back through the stream (stream.h). One thread of the library serves
 * all connections; a body above HTTP_LONG_BODY is read on another one (http_reader.h). A request
 * that waits for the engine is suspended and takes no time of that thread. Nothing of a reply is
 * sent before the first generated text is there, so an error up to then has its own HTTP status.
 *
 * Every error is OpenAI's JSON object. A header that is too long, or unclear about the end of the
 * body, is refused (400, 413, 414 or 431, and closed), and a body that is late gets a 408
 * (http_gate.h). The library's own errors, pages of HTML, are not reached.
 *
 * Not offered: TLS and authentication (put HAProxy or nginx in front), HTTP/2.
 */
#ifndef SERVELAB_SERVE_HTTP_H
#define SERVELAB_SERVE_HTTP_H

#include "base/err.h"
#include "serve/engine.h"
#include "serve/records.h"

enum {
    HTTP_MAX_BODY =
        2 * 1024 * 1024,         /* a 128k-token prompt as text is about 600 kB, as ids 900 kB */
    HTTP_LONG_BODY = 16 * 1024,  /* reading so much takes 1 ms */
    HTTP_MAX_POST = 64 * 1024,   /* a client's half of a record has three events */
    HTTP_MAX_CONNECTIONS = 4000, /* a lecture hall; the library's own default is 1,020 */
    HTTP_CONNECTION_BYTES = 32 * 1024, /* for a request's header lines and its reply's
                                          (FRAMING_MAX_HEADER in http_framing.h) */
    HTTP_HEADER_S = 20, /* from connecting, or the last reply, to the end of the header: closes a
                           connection that trickles (slow loris) or idles */
    HTTP_BODY_S = 30,   /* from the header to the end of the body: then 408 */
    HTTP_STALL_S = 40,  /* a client that reads nothing for so long is gone. The library closes then,
                           so that it is longer than HTTP_BODY_S, whose end has an answer. It sees
                           that a client reads when a third of the kernel's buffer, of up to 4 MB,
                           is free: an answer larger than that, read at less than 35 kB/s, is cut. A
                           smaller buffer would cut clients that pause: it has all of their answer */
    HTTP_LINGER_S = 10, /* after a refusal before the end of the body, so much is still read */
    HTTP_LINGER_BYTES = 16 * 1024 * 1024 /* (http_gate.h) */
};

/* What /version says: the number of finished labs, and of releases since. */
#define SERVELAB_VERSION "0.3.0"

struct http_options {
    const char *host;    /* "127.0.0.1" */
    int port;            /* 0: any free one */
    const char *web_dir; /* the folder of the page's files; NULL: those in the program */
    const char *cors;    /* the other origin that may use the server (http_cors.h); NULL: none */
    const char *model_name;
    const char
        *synthetic; /* the shape of made-up weights: answers are not evaluated; NULL: a model */
    struct engine *engine; /* must outlive the server, as must the next two */
    struct records *records;
    const struct tokenizer *tokenizer;
    struct clock clock;
    int header_s, body_s, linger_s;    /* 0: the limits above; tests shorten them */
    void (*before_reading)(void *ctx); /* called before a long body is read; NULL, but in a test */
    void *before_reading_ctx;
};

struct http;

/* Listens and serves until http_stop. NULL and *e, which names the flag, when it can't. */
struct http *http_start(const struct http_options *o, struct err *e);
/* The port it listens on. */
int http_port(const struct http *h);

/* Refuses new completions with 503 from now on. Accepted ones go on; one whose body isn't complete
 * has one second for the rest, and so has a connection that lingers. Records can be posted and read
 * until http_stop. */
void http_drain(struct http *h);
/* How many requests that began before http_drain are not over yet. */
int http_active(struct http *h);
/* How many of them are completions that are not refused: the connection of one that is may linger
 * (http_gate.h). */
int http_unanswered(struct http *h);
/* Does any connection linger? */
bool http_lingers(struct http *h);

/* Closes every connection and frees *h; NULL is allowed. The engine must have been stopped before,
 * which closes every stream. */
void http_stop(struct http *h);

#endif
