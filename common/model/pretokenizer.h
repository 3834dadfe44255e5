/* pretokenizer.h: splits text into words; byte-pair merging never joins bytes of two words.
 *
 * A model's pre-tokenizer is a list of stages, each a pattern. A stage cuts every piece of the
 * stage before it into the pattern's matches and the text between them. A pattern sees one piece
 * and not its neighbours, which matters to lookahead and `$`. Names are those of GGUF's
 * `tokenizer.ggml.pre`.
 */
#ifndef SERVELAB_MODEL_PRETOKENIZER_H
#define SERVELAB_MODEL_PRETOKENIZER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct pretokenizer;

/* Further properties of a pre-tokenizer, which GGUF files don't state. */
struct pretokenizer_habits {
    bool whole_words; /* a word that is a token becomes that token without merging */
    bool normalises;  /* a text is brought to normalisation form C first (nfc.h) */
    bool adds_bos;    /* prompts begin with bos, unless the file has add_bos_token false */
};

/* NULL and *e when the name isn't known. The result is read-only; several threads may use it. */
struct pretokenizer *pretokenizer_create(const char *name, size_t n, struct err *e);
void pretokenizer_free(struct pretokenizer *p);

struct pretokenizer_habits pretokenizer_habits(const struct pretokenizer *p);

/* Calls `word` for each word in order; the words together are the text. A byte that is not part of
 * well-formed UTF-8 is a word, and the text before and after it is split separately. 0, or -1 when
 * a callback returned non-zero or a pattern exceeded PCRE2's limits (*e). */
typedef int (*word_fn)(void *ctx, const char *word, size_t n);
int pretokenizer_split(const struct pretokenizer *p, const char *text, size_t n, word_fn word,
                       void *ctx, struct err *e);

#endif
