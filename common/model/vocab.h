/* vocab.h: the tokens of a model file: their bytes and kinds, and the id of given bytes.
 *
 * Here a token has the bytes that it stands for. A byte-level file ("gpt2") writes an ordinary
 * token in GPT-2's alphabet, in which each of the 256 bytes is a visible character. A SentencePiece
 * file ("llama") writes a blank as U+2581, and the token of a single byte as <0x41>. Both write
 * other kinds as plain text.
 */
#ifndef SERVELAB_MODEL_VOCAB_H
#define SERVELAB_MODEL_VOCAB_H

#include "base/err.h"
#include "model/gguf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VOCAB_MAX = 1 << 22 }; /* the largest published vocabularies have about 256,000 entries */

/* Numbered as in `tokenizer.ggml.token_type`. */
enum token_kind {
    TOKEN_NORMAL = 1,
    TOKEN_UNKNOWN = 2,
    TOKEN_CONTROL = 3,      /* markers: found only in text that the caller trusts */
    TOKEN_USER_DEFINED = 4, /* whole words added to the vocabulary: found in any text */
    TOKEN_UNUSED = 5,
    TOKEN_BYTE = 6
};

struct token {
    const char *bytes;
    uint32_t n;
    uint8_t kind;
    bool whole; /* merging its bytes gives just this id (set by tokenizer.c) */
    bool ends;  /* generating it ends the answer */
};

/* From bytes to id: open addressing over the vocabulary's own tokens. */
struct byte_map {
    int32_t *ids; /* -1: empty slot */
    size_t n_slots;
};

struct vocab {
    struct token *tokens; /* (n) */
    int32_t n;
    char *blob;
    bool sentencepiece;
    bool blanks_lead; /* `sentencepiece`, and no NORMAL token has a blank after another character */
    struct byte_map ordinary; /* NORMAL tokens, and BYTE tokens unless `sentencepiece` */
    struct byte_map added;    /* CONTROL and USER_DEFINED tokens */
};

#define VOCAB_BLANK "\xe2\x96\x81" /* U+2581, a blank in a SentencePiece file */

/* Reads tokens and kinds. A token whose text is a marker of a known model family becomes CONTROL,
 * because converters often write markers as USER_DEFINED; `ends` is set where that marker ends an
 * answer. 0, or -1 and *e. vocab_release in both cases. */
int vocab_read(struct vocab *v, const struct gguf *g, struct err *e);
void vocab_release(struct vocab *v);

/* The id of these bytes, or -1. The lowest one where several tokens have the same bytes. */
int32_t vocab_find(const struct vocab *v, const struct byte_map *m, const char *bytes, size_t n);

/* Decodes the text of an ordinary token to bytes; out holds n bytes. False, and *n_out undefined,
 * when a character is not in GPT-2's alphabet, unless `sentencepiece`. */
bool vocab_decode_text(bool sentencepiece, const char *text, size_t n, char *out, size_t *n_out);

#endif
