/* pretokenizer.h: text into the words that byte-pair merging never crosses.
 *
 * A model's pre-tokenizer is a list of stages, each a pattern; a stage cuts every piece of the
 * stage before it into its matches and what lies between them. Patterns see one piece and not its
 * neighbours, which matters to lookahead and `$`. Names are those of GGUF's `tokenizer.ggml.pre`.
 */
#ifndef SERVELAB_MODEL_PRETOKENIZER_H
#define SERVELAB_MODEL_PRETOKENIZER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct pretokenizer;

/* What else goes with a pre-tokenizer's name, because GGUF files don't state it. */
struct pretokenizer_habits {
    bool whole_words; /* a word that is a token is taken as it is, whatever the merges say */
    bool adds_bos;    /* bos stands before a prompt, unless the file says otherwise */
};

/* NULL and *e naming the pre-tokenizer when it isn't known. The result is read-only and may be used
 * from several threads. */
struct pretokenizer *pretokenizer_create(const char *name, size_t n, struct err *e);
void pretokenizer_free(struct pretokenizer *p);

struct pretokenizer_habits pretokenizer_habits(const struct pretokenizer *p);

/* Calls `word` for each word in order; together they are the text. Bytes that are not well-formed
 * UTF-8 are a word each, and the text before and after them is split as if it stood alone. 0, or -1
 * when a callback returned non-zero or a pattern ran into PCRE2's limits (*e). */
typedef int (*word_fn)(void *ctx, const char *word, size_t n);
int pretokenizer_split(const struct pretokenizer *p, const char *text, size_t n, word_fn word,
                       void *ctx, struct err *e);

#endif
