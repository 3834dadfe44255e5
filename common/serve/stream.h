/* stream.h: a bounded queue that carries the text of one answer from the engine thread to its
 * connection.
 *
 * The engine pushes pieces of text and closes the stream with how the answer ended. The connection
 * takes one piece after the other. When it finds none, it suspends itself under the stream's lock,
 * and the next push resumes it under the same lock, so no wake-up is lost. The streams of a request
 * for several answers share one link to their connection, and its lock. The pieces of a slow
 * reader are joined; past STREAM_MAX_BYTES its answer is dropped. The last of the two sides to
 * release the stream frees it.
 *
 * Not here: HTTP and JSON (completion.c, openai_reply.c), and when an answer ends (engine_step.c).
 */
#ifndef SERVELAB_SERVE_STREAM_H
#define SERVELAB_SERVE_STREAM_H

#include "model/token_scores.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STREAM_MAX_PIECES = 64, /* a second of a fast decoder; further pieces are joined to the last */
    STREAM_MAX_BYTES = 1024 * 1024 /* twice the text of 100,000 tokens: longer than any answer */
};

enum stream_state {
    STREAM_OPEN,
    STREAM_DONE,     /* complete; finish_reason says why it ended */
    STREAM_REJECTED, /* never ran; error says why */
    STREAM_FAILED,   /* a fault of the server; error says which */
    STREAM_CANCELLED /* the client went away, or the server is stopping */
};

struct stream_piece {
    size_t n;       /* bytes */
    int32_t tokens; /* how many tokens these bytes are the text of */
};

struct MHD_Connection;

/* What the streams of one request share. */
struct stream_link {
    pthread_mutex_t lock; /* guards all below, and the streams */
    struct stream *first; /* a list of the streams that are not freed */
    bool whole;           /* the reader wants complete answers: resume it at the end only */
    struct MHD_Connection *connection; /* NULL: none (in tests), or closed */
    int fd;                            /* its socket; -1: none */
    bool suspended;                    /* the connection is suspended until the next change */
};

struct stream {
    struct stream_link *link; /* its lock guards all below */
    struct stream *next;      /* in the link's list */
    int refs;
    char *text; /* (n_text) bytes not yet taken, from `begin` */
    size_t begin, n_text, cap_text;
    struct stream_piece pieces[STREAM_MAX_PIECES]; /* a ring: n_pieces from first_piece */
    int32_t first_piece, n_pieces;
    struct token_score *scores; /* (n_scores) not yet taken, from begin_score */
    size_t begin_score, n_scores, cap_scores;
    enum stream_state state;
    bool over; /* the reader knows that it is closed, and has taken all of it */
    char finish_reason[16];
    char error[160];
    int32_t closing_tokens; /* tokens that are in no piece (a stop string's) */
    int32_t output_tokens;  /* of the whole answer; set when it is closed */
    int32_t cached_tokens;  /* of the prompt, found in the KV cache; -1: reuse is off */
};

/* Returns one reference. `beside` NULL: a stream with a link of its own; else one that shares the
 * link of that stream. NULL when memory is out. */
struct stream *stream_create(struct stream *beside);
/* One reference more; one fewer, and the last one frees the stream. */
void stream_hold(struct stream *s);
void stream_release(struct stream *s);

/* ---- the engine's side ---------------------------------------------------------------------- */

/* Appends the piece text[0..n), n > 0, of `tokens` tokens. -1, and nothing appended, when more than
 * STREAM_MAX_BYTES would wait, or memory is out. */
int stream_push(struct stream *s, const char *text, size_t n, int32_t tokens);
/* Appends the n scores of one token (token_scores.h), before the piece that the token is in. A
 * request has at most as many as its prompt and answer have tokens. -1 when memory is out. */
int stream_push_scores(struct stream *s, const struct token_score *scores, size_t n);
/* Closes the stream: the answer is complete. Does nothing on a closed stream. */
void stream_finish(struct stream *s, const char *finish_reason, int32_t output_tokens,
                   int32_t closing_tokens, int32_t cached_tokens);
/* Closes the stream as STREAM_REJECTED, STREAM_FAILED or STREAM_CANCELLED. Does nothing on a closed
 * one. */
void stream_abort(struct stream *s, enum stream_state how, const char *error);
/* Has the client closed its connection, or its half of it? Both count as gone, as in nginx and Go's
 * net/http: a client that still wants an answer doesn't close its half. */
bool stream_client_gone(struct stream *s);

/* ---- the connection's side ------------------------------------------------------------------ */

/* Ties the stream's link to its connection, and unties it before the connection's socket is closed.
 */
void stream_attach(struct stream *s, struct MHD_Connection *c, int fd, bool whole);
void stream_detach(struct stream *s);

/* Is there news in one of the link's streams? That is a piece, or the end of a stream that isn't
 * over. With `whole`: every stream is closed, or one of them without being complete. Otherwise
 * suspends the connection until there is, and returns false. */
bool stream_ready_or_suspend(struct stream *s);
/* The reader knows how the stream ended. */
void stream_over(struct stream *s);

/* Takes the next piece: appends its bytes to *text and sets *tokens. 1: a piece; 0: none now; -1:
 * none any more, because the stream is closed and empty, or memory is out. */
struct buffer;
int stream_take(struct stream *s, struct buffer *text, int32_t *tokens);

/* Appends the next n scores to *to, or all that are left when there are fewer. */
void stream_take_scores(struct stream *s, struct buffer *to, size_t n);

/* How the answer ended, with the fields of struct stream. */
struct stream_end {
    enum stream_state state;
    char finish_reason[16];
    char error[160];
    int32_t output_tokens, closing_tokens, cached_tokens;
};
struct stream_end stream_end_of(struct stream *s);

#endif
