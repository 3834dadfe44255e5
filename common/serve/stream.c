/* stream.c: bounded hand-over of one answer's text. See stream.h. */
#include "serve/stream.h"

#include "base/buffer.h"
#include "base/err.h"

#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void lock(struct stream *s) {
    pthread_mutex_lock(&s->link->lock);
}

static void unlock(struct stream *s) {
    pthread_mutex_unlock(&s->link->lock);
}

static struct stream_link *make_link(void) {
    struct stream_link *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    pthread_mutex_init(&l->lock, NULL);
    l->fd = -1;
    return l;
}

struct stream *stream_create(struct stream *beside) {
    struct stream *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->refs = 1;
    s->link = beside ? beside->link : make_link();
    if (!s->link) {
        free(s);
        return NULL;
    }
    lock(s);
    s->next = s->link->first;
    s->link->first = s;
    unlock(s);
    return s;
}

void stream_hold(struct stream *s) {
    lock(s);
    s->refs++;
    unlock(s);
}

void stream_release(struct stream *s) {
    struct stream_link *l = s->link;
    pthread_mutex_lock(&l->lock);
    int refs = --s->refs;
    INVARIANT(refs >= 0);
    struct stream **at = &l->first;
    while (refs == 0 && *at != s) at = &(*at)->next;
    if (refs == 0) *at = s->next;
    bool last = !l->first;
    pthread_mutex_unlock(&l->lock);
    if (refs > 0) return;
    free(s->text);
    free(s->scores);
    free(s);
    if (!last) return;
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* ---- the engine's side ---------------------------------------------------------------------- */

static bool has_news(const struct stream_link *l) {
    bool open = false, unread = false;
    for (const struct stream *s = l->first; s; s = s->next) {
        if (s->state == STREAM_OPEN) open = true;
        if (s->state != STREAM_OPEN && s->state != STREAM_DONE) return true;
        if (s->n_pieces > 0 || (s->state == STREAM_DONE && !s->over)) unread = true;
    }
    return !open || (unread && !l->whole);
}

/* Under the lock. Resuming under the same lock as suspending is what makes the wake-up safe. */
static void wake(struct stream *s) {
    struct stream_link *l = s->link;
    if (!l->suspended || !has_news(l)) return;
    l->suspended = false;
    MHD_resume_connection(l->connection);
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
    lock(s);
    bool room = make_room(s, n);
    if (room) {
        memcpy(s->text + s->begin + s->n_text, text, n);
        s->n_text += n;
        add_piece(s, n, tokens);
        wake(s);
    }
    unlock(s);
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
    lock(s);
    bool room = make_score_room(s, n);
    if (room) {
        memcpy(s->scores + s->begin_score + s->n_scores, scores, n * sizeof *scores);
        s->n_scores += n;
    }
    unlock(s);
    return room ? 0 : -1;
}

void stream_finish(struct stream *s, const char *finish_reason, int32_t output_tokens,
                   int32_t closing_tokens, int32_t cached_tokens) {
    lock(s);
    if (s->state == STREAM_OPEN) {
        s->state = STREAM_DONE;
        text_cut(s->finish_reason, sizeof s->finish_reason, finish_reason);
        s->output_tokens = output_tokens;
        s->closing_tokens = closing_tokens;
        s->cached_tokens = cached_tokens;
        wake(s);
    }
    unlock(s);
}

void stream_abort(struct stream *s, enum stream_state how, const char *error) {
    lock(s);
    if (s->state == STREAM_OPEN) {
        s->state = how;
        text_cut(s->error, sizeof s->error, error);
        wake(s);
    }
    unlock(s);
}

bool stream_client_gone(struct stream *s) {
    lock(s);
    struct pollfd p = {.fd = s->link->fd, .events = POLLRDHUP};
    /* the lock keeps the descriptor open: stream_detach comes before the socket is closed */
    bool gone =
        s->link->fd >= 0 && poll(&p, 1, 0) == 1 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
    unlock(s);
    return gone;
}

/* ---- the connection's side ------------------------------------------------------------------ */

void stream_attach(struct stream *s, struct MHD_Connection *c, int fd, bool whole) {
    lock(s);
    s->link->connection = c;
    s->link->fd = fd;
    s->link->whole = whole;
    unlock(s);
}

void stream_detach(struct stream *s) {
    lock(s);
    INVARIANT(!s->link->suspended); /* a suspended connection can't be the one that ends */
    s->link->connection = NULL;
    s->link->fd = -1;
    unlock(s);
}

bool stream_ready_or_suspend(struct stream *s) {
    lock(s);
    bool ready = has_news(s->link);
    if (!ready && s->link->connection) {
        s->link->suspended = true;
        MHD_suspend_connection(s->link->connection);
    }
    unlock(s);
    return ready;
}

void stream_over(struct stream *s) {
    lock(s);
    s->over = true;
    unlock(s);
}

int stream_take(struct stream *s, struct buffer *text, int32_t *tokens) {
    int rc = 1;
    lock(s);
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
    unlock(s);
    return rc;
}

void stream_take_scores(struct stream *s, struct buffer *to, size_t n) {
    lock(s);
    if (n > s->n_scores) n = s->n_scores;
    if (n > 0) buffer_add(to, (const char *)(s->scores + s->begin_score), n * sizeof *s->scores);
    s->begin_score += n;
    s->n_scores -= n;
    unlock(s);
}

struct stream_end stream_end_of(struct stream *s) {
    lock(s);
    struct stream_end end = {.state = s->state,
                             .output_tokens = s->output_tokens,
                             .closing_tokens = s->closing_tokens,
                             .cached_tokens = s->cached_tokens};
    memcpy(end.finish_reason, s->finish_reason, sizeof end.finish_reason);
    memcpy(end.error, s->error, sizeof end.error);
    unlock(s);
    return end;
}
