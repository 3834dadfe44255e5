/* answer.c: text of an answer, with stop strings withheld. See answer.h. */
#include "serve/answer.h"

#include <stdlib.h>
#include <string.h>

int answer_init(struct answer *a, const struct tokenizer *t, const struct answer_stop *stops,
                int32_t n_stops, int32_t min_tokens, struct err *e) {
    INVARIANT(n_stops >= 0 && n_stops <= ANSWER_MAX_STOPS);
    *a = (struct answer){.tokenizer = t, .n_stops = n_stops, .min_tokens = min_tokens};
    if (n_stops == 0) return 0;
    size_t bytes = (size_t)n_stops * sizeof *stops;
    for (int32_t i = 0; i < n_stops; i++) {
        INVARIANT(stops[i].n > 0 && stops[i].n <= ANSWER_MAX_STOP_BYTES);
        bytes += stops[i].n;
    }
    a->stops = malloc(bytes);
    if (!a->stops) return err_set(e, "no memory for %d stop strings", n_stops);
    char *text = (char *)(a->stops + n_stops);
    for (int32_t i = 0; i < n_stops; i++) {
        memcpy(text, stops[i].text, stops[i].n);
        a->stops[i] = (struct answer_stop){text, stops[i].n};
        text += stops[i].n;
    }
    return 0;
}

void answer_release(struct answer *a) {
    free(a->text);
    free(a->stops);
    a->text = NULL;
    a->stops = NULL;
    a->n_stops = 0;
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
    if (a->n_text == 0 || a->n_taken <= a->min_tokens) return first;
    for (int32_t i = 0; i < a->n_stops; i++) {
        const char *at = memmem(a->text, a->n_text, a->stops[i].text, a->stops[i].n);
        if (at && (size_t)(at - a->text) < first) first = (size_t)(at - a->text);
    }
    return first;
}

/* Length of the longest end of the text that begins a stop string. */
static size_t undecided(const struct answer *a) {
    size_t longest = 0;
    for (int32_t i = 0; i < a->n_stops; i++) {
        size_t n = a->stops[i].n - 1;
        if (n > a->n_text) n = a->n_text;
        for (; n > longest; n--)
            if (!memcmp(a->text + a->n_text - n, a->stops[i].text, n)) longest = n;
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
    a->n_taken++;
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
