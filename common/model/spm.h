/* spm.h: encodes text as SentencePiece's BPE does: a whole text is one word of characters.
 *
 * A character that is no token becomes one token for each of its bytes (byte fallback). A blank may
 * be put before the text, as in training. Not here: merging (bpe.h).
 */
#ifndef SERVELAB_MODEL_SPM_H
#define SERVELAB_MODEL_SPM_H

#include "model/bpe.h"
#include "model/vocab.h"

/* Before which texts a blank is put. A text ends where a special token is. `first`: only at the
 * start of the prompt. `unless`: not if the text begins with a blank. */
enum spm_prefix { SPM_NONE, SPM_EACH, SPM_EACH_UNLESS_BLANK, SPM_FIRST_UNLESS_BLANK };

/* The rule of a file: tokenizer.ggml.space_prefix ("none", "each", "each-unless-blank",
 * "first-unless-blank"; of a Hugging Face folder), else tokenizer.ggml.add_space_prefix, else
 * SPM_EACH. 0, or -1 and *e. */
int spm_read_prefix(const struct gguf *g, enum spm_prefix *out, struct err *e);

/* Sets the merges of b from tokenizer.ggml.scores: each way to cut a token's text into two tokens;
 * the highest score first, the leftmost place where scores are equal. 0, or -1 and *e. bpe_release
 * in both cases. */
int spm_read_merges(struct bpe *b, const struct vocab *v, const struct gguf *g, struct err *e);

/* Sets the tokens of single bytes. 0, or -1 and *e: a byte has none. */
int spm_read_bytes(struct bpe *b, const struct vocab *v, struct err *e);

/* Appends the ids of text[0..n), any bytes. A byte that is not part of well-formed UTF-8 becomes
 * its token. U+2581 counts as a blank. `first`: the text begins the prompt. 0, or -1 and *e. */
int spm_encode(const struct bpe *b, const struct vocab *v, enum spm_prefix prefix, const char *text,
               size_t n, bool first, struct id_list *out, struct err *e);

#endif
