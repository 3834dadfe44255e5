/* stream.h: the text of one answer on its way from the engine thread to its connection.
 *
 * The engine pushes pieces of text and closes the stream with how the answer ended; the connection
 * takes one piece after the other. A reader that finds nothing suspends its connection under the
 * stream's lock, and the next push resumes it under the same lock: no wake-up can be lost. The
 * hand-over is bounded (limits below): pieces of a reader who lags are joined, and who lags without
 * end is cut off. A stream lives until both sides have let go of it.
 *
 * Not here: HTTP and JSON (http.c, openai.c), and when an answer ends (engine_step.c).
 */
#ifndef SERVELAB_SERVE_STREAM_H
#define SERVELAB_SERVE_STREAM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STREAM_MAX_PIECES = 64, /* a reader a second behind a fast decoder; then they are joined */
    STREAM_MAX_BYTES = 1024 * 1024 /* twice the text of 100,000 tokens: nobody's answer is longer */
};

enum stream_state {
    STREAM_OPEN,
    STREAM_DONE,     /* complete; finish_reason says why it ended */
    STREAM_REJECTED, /* never ran; error says why */
    STREAM_FAILED,   /* our fault; error says what */
    STREAM_CANCELLED /* the client went away, or the server is stopping */
};

struct stream_piece {
    size_t n;       /* bytes */
    int32_t tokens; /* tokens these bytes stand for */
};

struct MHD_Connection;

struct stream {
    pthread_mutex_t lock; /* guards all below */
    int refs;
    char *text; /* (n_text) bytes not yet taken, from `begin` */
    size_t begin, n_text, cap_text;
    struct stream_piece pieces[STREAM_MAX_PIECES]; /* a ring: n_pieces from first_piece */
    int32_t first_piece, n_pieces;
    enum stream_state state;
    char finish_reason[16];
    char error[160];
    int32_t closing_tokens; /* tokens no piece stands for (a stop string's) */
    int32_t output_tokens;  /* of the whole answer, known once it is closed */
    int32_t cached_tokens;  /* of the prompt, found in the KV cache; -1: reuse is off */
    bool whole;             /* the reader wants the complete answer: wake it at the end only */
    struct MHD_Connection *connection; /* NULL: none (tests, offline), or gone */
    int fd;                            /* its socket, -1 when there is none */
    bool suspended;                    /* the connection sleeps until the next change */
};

/* One reference for the caller. NULL when memory is out. */
struct stream *stream_create(void);
void stream_hold(struct stream *s);
void stream_release(struct stream *s);

/* ---- the engine's side ---------------------------------------------------------------------- */

/* Adds text[0..n), n > 0. -1 when the reader lags by more than STREAM_MAX_BYTES. */
int stream_push(struct stream *s, const char *text, size_t n, int32_t tokens);
/* The answer is complete. Does nothing on a stream that is closed already. */
void stream_finish(struct stream *s, const char *finish_reason, int32_t output_tokens,
                   int32_t closing_tokens, int32_t cached_tokens);
/* It ended otherwise: STREAM_REJECTED, STREAM_FAILED or STREAM_CANCELLED. */
void stream_abort(struct stream *s, enum stream_state how, const char *error);
/* Has the client closed its connection, or its half of it? Nobody who still wants an answer does
 * the latter, so both count as gone, as with other servers (nginx, Go's net/http). */
bool stream_client_gone(struct stream *s);

/* ---- the connection's side ------------------------------------------------------------------ */

/* Ties the stream to its connection, and unties it before the connection's socket is closed. */
void stream_attach(struct stream *s, struct MHD_Connection *c, int fd, bool whole);
void stream_detach(struct stream *s);

/* Is there something to read, a piece (the end, where `whole`) or the end? If not, suspends the
 * connection until there is. */
bool stream_ready_or_suspend(struct stream *s);

/* Takes the next piece: its bytes are appended to *text (cap bytes allocated by the stream, freed
 * by the caller). 1 a piece; 0 nothing now; -1 nothing any more: the stream is closed and drained,
 * or memory is out. */
struct buffer;
int stream_take(struct stream *s, struct buffer *text, int32_t *tokens);

/* How the answer ended. Meaningful fields as in struct stream. */
struct stream_end {
    enum stream_state state;
    char finish_reason[16];
    char error[160];
    int32_t output_tokens, closing_tokens, cached_tokens;
};
struct stream_end stream_end_of(struct stream *s);

#endif
