/* stream.c: bounded hand-over of one answer's text. See stream.h. */
#include "serve/stream.h"

#include "base/buffer.h"
#include "base/err.h"

#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stream *stream_create(void) {
    struct stream *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    pthread_mutex_init(&s->lock, NULL);
    s->refs = 1;
    s->fd = -1;
    return s;
}

void stream_hold(struct stream *s) {
    pthread_mutex_lock(&s->lock);
    s->refs++;
    pthread_mutex_unlock(&s->lock);
}

void stream_release(struct stream *s) {
    pthread_mutex_lock(&s->lock);
    int refs = --s->refs;
    pthread_mutex_unlock(&s->lock);
    INVARIANT(refs >= 0);
    if (refs > 0) return;
    pthread_mutex_destroy(&s->lock);
    free(s->text);
    free(s->scores);
    free(s);
}

/* ---- the engine's side ---------------------------------------------------------------------- */

/* Under the lock. Resuming under the same lock as suspending is what makes the wake-up safe. */
static void wake(struct stream *s) {
    if (!s->suspended || (s->whole && s->state == STREAM_OPEN)) return;
    s->suspended = false;
    MHD_resume_connection(s->connection);
}

static bool make_room(struct stream *s, size_t n) {
    if (s->n_text + n > STREAM_MAX_BYTES) return false;
    if (s->begin + s->n_text + n <= s->cap_text) return true;
    if (s->begin > 0 && s->n_text > 0) memmove(s->text, s->text + s->begin, s->n_text);
    s->begin = 0;
    if (s->n_text + n <= s->cap_text) return true;
    size_t cap = 2 * (s->n_text + n);
    char *text = realloc(s->text, cap);
    if (!text) return false;
    s->text = text;
    s->cap_text = cap;
    return true;
}

static void add_piece(struct stream *s, size_t n, int32_t tokens) {
    if (s->n_pieces == STREAM_MAX_PIECES) {
        int32_t last = (s->first_piece + s->n_pieces - 1) % STREAM_MAX_PIECES;
        s->pieces[last].n += n;
        s->pieces[last].tokens += tokens;
        return;
    }
    int32_t at = (s->first_piece + s->n_pieces++) % STREAM_MAX_PIECES;
    s->pieces[at] = (struct stream_piece){n, tokens};
}

int stream_push(struct stream *s, const char *text, size_t n, int32_t tokens) {
    pthread_mutex_lock(&s->lock);
    bool room = make_room(s, n);
    if (room) {
        memcpy(s->text + s->begin + s->n_text, text, n);
        s->n_text += n;
        add_piece(s, n, tokens);
        wake(s);
    }
    pthread_mutex_unlock(&s->lock);
    return room ? 0 : -1;
}

static bool make_score_room(struct stream *s, size_t n) {
    if (s->begin_score + s->n_scores + n <= s->cap_scores) return true;
    if (s->begin_score > 0 && s->n_scores > 0)
        memmove(s->scores, s->scores + s->begin_score, s->n_scores * sizeof *s->scores);
    s->begin_score = 0;
    if (s->n_scores + n <= s->cap_scores) return true;
    size_t cap = 2 * (s->n_scores + n);
    struct token_score *scores = realloc(s->scores, cap * sizeof *scores);
    if (!scores) return false;
    s->scores = scores;
    s->cap_scores = cap;
    return true;
}

int stream_push_scores(struct stream *s, const struct token_score *scores, size_t n) {
    pthread_mutex_lock(&s->lock);
    bool room = make_score_room(s, n);
    if (room) {
        memcpy(s->scores + s->begin_score + s->n_scores, scores, n * sizeof *scores);
        s->n_scores += n;
    }
    pthread_mutex_unlock(&s->lock);
    return room ? 0 : -1;
}

void stream_finish(struct stream *s, const char *finish_reason, int32_t output_tokens,
                   int32_t closing_tokens, int32_t cached_tokens) {
    pthread_mutex_lock(&s->lock);
    if (s->state == STREAM_OPEN) {
        s->state = STREAM_DONE;
        text_cut(s->finish_reason, sizeof s->finish_reason, finish_reason);
        s->output_tokens = output_tokens;
        s->closing_tokens = closing_tokens;
        s->cached_tokens = cached_tokens;
        wake(s);
    }
    pthread_mutex_unlock(&s->lock);
}

void stream_abort(struct stream *s, enum stream_state how, const char *error) {
    pthread_mutex_lock(&s->lock);
    if (s->state == STREAM_OPEN) {
        s->state = how;
        text_cut(s->error, sizeof s->error, error);
        wake(s);
    }
    pthread_mutex_unlock(&s->lock);
}

bool stream_client_gone(struct stream *s) {
    pthread_mutex_lock(&s->lock);
    struct pollfd p = {.fd = s->fd, .events = POLLRDHUP};
    /* the lock keeps the descriptor open: stream_detach comes before the socket is closed */
    bool gone = s->fd >= 0 && poll(&p, 1, 0) == 1 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
    pthread_mutex_unlock(&s->lock);
    return gone;
}

/* ---- the connection's side ------------------------------------------------------------------ */

void stream_attach(struct stream *s, struct MHD_Connection *c, int fd, bool whole) {
    pthread_mutex_lock(&s->lock);
    s->connection = c;
    s->fd = fd;
    s->whole = whole;
    pthread_mutex_unlock(&s->lock);
}

void stream_detach(struct stream *s) {
    pthread_mutex_lock(&s->lock);
    INVARIANT(!s->suspended); /* a suspended connection can't be the one that ends */
    s->connection = NULL;
    s->fd = -1;
    pthread_mutex_unlock(&s->lock);
}

bool stream_ready_or_suspend(struct stream *s) {
    pthread_mutex_lock(&s->lock);
    bool ready = s->state != STREAM_OPEN || (s->n_pieces > 0 && !s->whole);
    if (!ready && s->connection) {
        s->suspended = true;
        MHD_suspend_connection(s->connection);
    }
    pthread_mutex_unlock(&s->lock);
    return ready;
}

int stream_take(struct stream *s, struct buffer *text, int32_t *tokens) {
    int rc = 1;
    pthread_mutex_lock(&s->lock);
    if (s->n_pieces == 0 || s->state == STREAM_CANCELLED) {
        rc = s->state == STREAM_OPEN ? 0 : -1;
        goto out;
    }
    struct stream_piece piece = s->pieces[s->first_piece];
    s->first_piece = (s->first_piece + 1) % STREAM_MAX_PIECES;
    s->n_pieces--;
    buffer_add(text, s->text + s->begin, piece.n);
    s->begin += piece.n;
    s->n_text -= piece.n;
    *tokens = piece.tokens;
    if (text->failed) rc = -1;
out:
    pthread_mutex_unlock(&s->lock);
    return rc;
}

void stream_take_scores(struct stream *s, struct buffer *to, size_t n) {
    pthread_mutex_lock(&s->lock);
    if (n > s->n_scores) n = s->n_scores;
    if (n > 0) buffer_add(to, (const char *)(s->scores + s->begin_score), n * sizeof *s->scores);
    s->begin_score += n;
    s->n_scores -= n;
    pthread_mutex_unlock(&s->lock);
}

struct stream_end stream_end_of(struct stream *s) {
    pthread_mutex_lock(&s->lock);
    struct stream_end end = {.state = s->state,
                             .output_tokens = s->output_tokens,
                             .closing_tokens = s->closing_tokens,
                             .cached_tokens = s->cached_tokens};
    memcpy(end.finish_reason, s->finish_reason, sizeof end.finish_reason);
    memcpy(end.error, s->error, sizeof end.error);
    pthread_mutex_unlock(&s->lock);
    return end;
}
