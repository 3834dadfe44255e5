/* http.h: the HTTP side of the server, over libmicrohttpd.
 *
 *   POST /v1/chat/completions, /v1/completions   OpenAI's shapes, streamed or whole (completion.c)
 *   GET  /v1/models, /health
 *   GET  /v1/presets             prompts with a checkable answer (http_presets.c)
 *   POST /v1/records/{id}/events                 the client's half of a record (http_records.c)
 *   GET  /v1/records, /v1/records/{id}, /v1/records/{id}/intervals
 *   GET  /, /FILE                                the classroom page (http_files.c)
 *
 * One thread of the library serves all connections; a request that waits for the engine is
 * suspended and costs nothing. Nothing of a reply is sent before the first generated content is
 * there: an error up to then has its own HTTP status.
 *
 * Every error of ours is OpenAI's JSON object. The library answers by itself, with a page of HTML,
 * what never reaches us: a request line, header or length that can't be parsed (400), a body whose
 * announced size it can't hold (413), too long a URL or header (414, 431), and an HTTP version it
 * doesn't know (505). A header that says twice where the body ends is ours (400, and closed).
 *
 * Limits, each with its reason, stand below. Refuses: TLS and authentication (put HAProxy or nginx
 * in front), HTTP/2, more than one answer a request.
 */
#ifndef SERVELAB_SERVE_HTTP_H
#define SERVELAB_SERVE_HTTP_H

#include "base/err.h"
#include "serve/engine.h"
#include "serve/records.h"

enum {
    HTTP_MAX_BODY =
        2 * 1024 * 1024,         /* a 128k-token prompt as text is about 600 kB, as ids 900 kB */
    HTTP_MAX_POST = 64 * 1024,   /* a client's half of a record has three events */
    HTTP_MAX_CONNECTIONS = 4000, /* a lecture hall; the library's own default is 1,020 */
    HTTP_CONNECTION_BYTES = 32 * 1024, /* a request's header lines must fit in it: then 431 */
    HTTP_HEADER_S = 20, /* from connecting, or the last reply, to the end of the header: a
                           connection that trickles (slow loris) or idles is closed then */
    HTTP_BODY_S = 30,   /* from the header to the end of the body */
    HTTP_STALL_S = 30   /* a client that reads nothing for so long is gone */
};

struct http_options {
    const char *host;    /* "127.0.0.1" */
    int port;            /* 0: a free one */
    const char *web_dir; /* serve the page's files from here, NULL: those in the program */
    const char *model_name;
    struct engine *engine; /* outlives the server, as do the next two */
    struct records *records;
    const struct tokenizer *tokenizer;
    struct clock clock;
    int header_s, body_s; /* 0: as above; tests shorten them */
};

struct http;

struct http *http_start(const struct http_options *o, struct err *e);
int http_port(const struct http *h);

/* New completions get 503 from now on; what was accepted goes on, but a request whose body isn't
 * complete has one second for the rest: nothing of it runs yet. Records can be posted and read
 * until the end. */
void http_drain(struct http *h);
/* Completions that are not over yet. */
int http_active(struct http *h);

/* Closes everything. The engine must have been stopped, so that every stream is closed. */
void http_stop(struct http *h);

#endif
