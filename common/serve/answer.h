/* answer.h: turns the token ids of one answer into text, in whole characters and up to a stop
 * string.
 *
 * Text that may be the beginning of a stop string is withheld until that is decided, and so is half
 * a character. So a token's text may come later than the token, and one piece of text may belong to
 * several tokens: each piece says how many. The engine thread alone calls this.
 *
 * Not here: when an answer ends for its length or at the end token (engine_step.c).
 */
#ifndef SERVELAB_SERVE_ANSWER_H
#define SERVELAB_SERVE_ANSWER_H

#include "base/err.h"
#include "model/tokenizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ANSWER_MAX_STOPS = 64,      /* OpenAI documents 4; evaluation harnesses send more */
    ANSWER_MAX_STOP_BYTES = 256 /* so much text is withheld at most; a longer one is a mistake */
};

struct answer_stop {
    const char *text; /* (n) valid UTF-8, NUL is a character like any other */
    size_t n;         /* 1 .. ANSWER_MAX_STOP_BYTES */
};

struct answer {
    const struct tokenizer *tokenizer;
    struct detokenizer detokenizer;
    struct answer_stop *stops; /* (n_stops), and their texts behind them; NULL when there is none */
    int32_t n_stops;
    int32_t n_taken, min_tokens; /* a stop string doesn't count before min_tokens + 1 are taken */
    char *text;                  /* (n_text) bytes: first what is released, then what is withheld */
    size_t n_text, n_released, cap_text;
    int32_t tokens; /* tokens taken since text was last released */
};

struct answer_piece {
    const char *text; /* owned by the answer, good until its next call */
    size_t n;         /* 0: nothing to send yet */
    int32_t tokens;   /* how many tokens this piece is the text of; 0 when n is 0 */
    bool stopped;     /* a stop string is complete; it and the text after it are cut off */
};

/* Copies the stop strings, at most ANSWER_MAX_STOPS. A stop string that is complete within the
 * first min_tokens tokens is ordinary text, as in vLLM. -1 when memory is out; then nothing is left
 * to release. */
int answer_init(struct answer *a, const struct tokenizer *t, const struct answer_stop *stops,
                int32_t n_stops, int32_t min_tokens, struct err *e);
void answer_release(struct answer *a);

/* Takes one generated token. -1 when memory is out. */
int answer_push(struct answer *a, int32_t id, struct answer_piece *piece, struct err *e);

/* The answer is over: releases the withheld text, half a character as U+FFFD; nothing after a stop
 * string. a->tokens then counts the tokens that were in no piece (a stop string's). -1 when memory
 * is out. */
int answer_end(struct answer *a, struct answer_piece *piece, struct err *e);

#endif
