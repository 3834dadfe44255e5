/* http_framing.h: reads HTTP/1.1 requests as bytes and finds each whose end two readers may see at
 * different places. Private to serve/.
 *
 * A proxy in front and this server must agree on the end of each body. Otherwise a part of a body
 * runs as a request that the proxy never saw (request smuggling, RFC 9112 section 11.2). The HTTP
 * library forgives what is unclear: a bare LF, a folded line, a NUL, a space before a colon. This
 * reader forgives nothing, and http_gate.h asks it before the library gets the bytes.
 *
 * It takes what RFC 9112 allows a sender to write: lines that end in CR LF, one Host, and one
 * Content-Length or the Transfer-Encoding "chunked". Empty lines before a request are allowed. It
 * refuses one thing that the RFC allows: a blank behind the value of these two, because the library
 * would read "chunked " as a body that ends with the connection. A path with %00 is no path: the
 * library would cut it there, and a proxy with rules for paths would not.
 *
 * The library keeps a request's header in HTTP_CONNECTION_BYTES of memory, and answers one that
 * doesn't fit by itself. So the lines of a request are counted as the library stores them, with
 * what it adds for each header, query argument and cookie, and too many are a fault here.
 */
#ifndef SERVELAB_SERVE_HTTP_FRAMING_H
#define SERVELAB_SERVE_HTTP_FRAMING_H

#include "base/buffer.h"

#include <stdint.h>

enum {
    FRAMING_MAX_HEADER = 16 * 1024, /* of a request's lines: half of HTTP_CONNECTION_BYTES, because
                                       the body and the reply need memory, too */
    FRAMING_ITEM_BYTES = 64, /* what the library adds for a header, a query argument or a cookie */
    FRAMING_MAX_CHUNK_LINE = 1024 /* a size and its extension; the library says 500 when its buffer
                                     is full of them */
};

enum framing_part {
    FRAMING_START, /* before a request line */
    FRAMING_HEADER,
    FRAMING_BODY, /* from here on the header is complete */
    FRAMING_CHUNK_SIZE,
    FRAMING_CHUNK_DATA,
    FRAMING_CHUNK_END,
    FRAMING_TRAILER,
};

/* The reader of one connection. Zero-initialised: at its beginning. */
struct framing {
    enum framing_part part;
    uint64_t left;      /* bytes of the body, or of the chunk */
    uint64_t data;      /* bytes of the chunks that have come */
    uint64_t most_data; /* more are a fault, 413 with the text too_much; 0: no limit, as it is at
                           the beginning of each request */
    const char *too_much;
    struct buffer line; /* what has come of the current line */
    size_t stored;      /* by the library for the current request, without the current line */
    bool head, http_1_1, closes;
    int lengths, encodings, hosts; /* of the current header */
    bool last; /* the client reads no reply after that of a request before: it closes */
};

struct framing_fault {
    int status;        /* 400, 404, 413, 414, 431 or 505; 0: no fault */
    const char *field; /* the header at fault, or NULL */
    const char *text;  /* for the client */
};

/* Reads the connection's next n bytes. *complete: how many requests end in them. *good: after a
 * fault, how many of them belong to those requests, or to the header before a body at fault. After
 * a fault it must not be called again. */
struct framing_fault framing_read(struct framing *f, const char *bytes, size_t n, int *complete,
                                  size_t *good);
void framing_release(struct framing *f);

#endif
