/* sse.h: parses server-sent events out of a byte stream, wherever it is cut into reads.
 *
 * Follows the WHATWG HTML standard, section 9.2.6 "Interpreting an event stream": a line ends in
 * LF, CR or CRLF; a leading byte order mark is passed over; a line that begins with ':' is a
 * comment; the "data" lines of one event are joined by LF; one blank after the colon isn't part of
 * the value; an event without data is dropped. So is an event that the stream's end cuts off, which
 * sse_end reports. Only the data of an event is kept, and events named "ping" are dropped:
 * completion servers use no other field. An event's size is bounded.
 *
 * Not here: what the data means (client.c).
 */
#ifndef SERVELAB_LOAD_SSE_H
#define SERVELAB_LOAD_SSE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { SSE_MAX_EVENT_BYTES = 4 * 1024 * 1024 }; /* a chunk with logits of every token is 1 MB */

/* Zero-initialised is ready. */
struct sse {
    char *line; /* the line so far, its end not yet seen */
    size_t n_line, cap_line;
    char *data; /* the event's data so far, each line with an LF behind it */
    size_t n_data, cap_data;
    size_t bom;    /* bytes of a leading byte order mark seen; 3: past the beginning */
    bool skip_lf;  /* the last line ended in CR: an LF now belongs to it */
    bool any_data; /* the event has a data line, perhaps an empty one */
    bool ping;     /* the event is named "ping" */
};

/* Takes data[0..n) of one event (no NUL behind it). Non-zero stops the parser. */
typedef int sse_event_fn(void *ctx, const char *data, size_t n);

/* Parses the next bytes and calls `each` for every event that they complete. 0; -1 and *e when an
 * event is too large or memory is out; or what `each` returned when that wasn't 0. After anything
 * but 0 only sse_release may follow. */
int sse_feed(struct sse *s, const char *bytes, size_t n, sse_event_fn *each, void *ctx,
             struct err *e);

/* At the end of the stream: was an event cut off? */
bool sse_end(const struct sse *s);

void sse_release(struct sse *s);

#endif
