/* answer.c: text of an answer, with stop strings withheld. See answer.h. */
#include "serve/answer.h"

#include <stdlib.h>
#include <string.h>

void answer_init(struct answer *a, const struct tokenizer *t) {
    *a = (struct answer){.tokenizer = t};
}

void answer_add_stop(struct answer *a, const char *stop) {
    size_t n = strlen(stop);
    INVARIANT(n > 0 && n <= ANSWER_MAX_STOP_BYTES);
    INVARIANT(a->n_stops < ANSWER_MAX_STOPS);
    memcpy(a->stop[a->n_stops], stop, n + 1);
    a->stop_bytes[a->n_stops++] = n;
}

void answer_release(struct answer *a) {
    free(a->text);
    a->text = NULL;
    a->n_text = a->n_released = a->cap_text = 0;
}

static int make_room(struct answer *a, size_t more, struct err *e) {
    if (a->n_text + more <= a->cap_text) return 0;
    size_t cap = 2 * (a->n_text + more);
    char *text = realloc(a->text, cap);
    if (!text) return err_set(e, "no memory for %zu bytes of answer text", cap);
    a->text = text;
    a->cap_text = cap;
    return 0;
}

/* Drops the text of the last piece. Only now, at the next call, because the piece points to it. */
static void drop_released(struct answer *a) {
    if (a->n_released == 0) return;
    a->n_text -= a->n_released;
    memmove(a->text, a->text + a->n_released, a->n_text);
    a->n_released = 0;
}

/* Where the first complete stop string begins, or n_text. */
static size_t find_stop(const struct answer *a) {
    size_t first = a->n_text;
    for (int32_t i = 0; i < a->n_stops; i++) {
        if (a->n_text == 0) break;
        const char *at = memmem(a->text, a->n_text, a->stop[i], a->stop_bytes[i]);
        if (at && (size_t)(at - a->text) < first) first = (size_t)(at - a->text);
    }
    return first;
}

/* Length of the longest end of the text that begins a stop string. */
static size_t undecided(const struct answer *a) {
    size_t longest = 0;
    for (int32_t i = 0; i < a->n_stops; i++) {
        size_t n = a->stop_bytes[i] - 1;
        if (n > a->n_text) n = a->n_text;
        for (; n > longest; n--)
            if (!memcmp(a->text + a->n_text - n, a->stop[i], n)) longest = n;
    }
    return longest;
}

static struct answer_piece release(struct answer *a, size_t n) {
    struct answer_piece piece = {a->text, n, n > 0 ? a->tokens : 0, false};
    a->n_released = n;
    if (n > 0) a->tokens = 0;
    return piece;
}

int answer_push(struct answer *a, int32_t id, struct answer_piece *piece, struct err *e) {
    drop_released(a);
    size_t token_bytes;
    tokenizer_token_bytes(a->tokenizer, id, false, &token_bytes);
    if (make_room(a, 3 * (token_bytes + 8), e)) return -1;
    a->n_text += detokenize(a->tokenizer, &a->detokenizer, id, a->text + a->n_text);
    a->tokens++;
    size_t stop = find_stop(a);
    bool stopped = stop < a->n_text;
    if (stopped) a->n_text = stop;
    if (stopped) a->detokenizer.n_held = 0; /* half a character after the stop string */
    *piece = release(a, stopped ? stop : a->n_text - undecided(a));
    piece->stopped = stopped;
    return 0;
}

int answer_end(struct answer *a, struct answer_piece *piece, struct err *e) {
    drop_released(a);
    if (make_room(a, 24, e)) return -1;
    a->n_text += detokenize_end(&a->detokenizer, a->text + a->n_text);
    *piece = release(a, a->n_text);
    return 0;
}
