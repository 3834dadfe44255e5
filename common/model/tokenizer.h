/* tokenizer.h: text to token ids and back, as the model was trained with.
 *
 * Offers: byte-level BPE (GGUF "gpt2") with the model's pre-tokenizer pattern, special tokens, the
 * chat template, and streaming detokenisation that never emits half a UTF-8 character. Refuses: to
 * guess; an unknown pre-tokenizer is an error that names it.
 */
#ifndef SERVELAB_MODEL_TOKENIZER_H
#define SERVELAB_MODEL_TOKENIZER_H

#include "base/err.h"
#include "model/model.h"

struct tokenizer;

/* Reads the vocabulary from the model file's metadata. Owns copies of what it needs. */
struct tokenizer *tokenizer_create(const struct gguf *file, struct err *e);
void tokenizer_free(struct tokenizer *t);

int32_t tokenizer_bos(const struct tokenizer *t); /* -1 when none */
int32_t tokenizer_eos(const struct tokenizer *t); /* -1 when none */
bool tokenizer_adds_bos(const struct tokenizer *t);
/* Does this id end an answer (eos, or an end-of-turn token)? */
bool tokenizer_ends(const struct tokenizer *t, int32_t id);
int32_t tokenizer_vocab_size(const struct tokenizer *t);

/* Encodes text[0..n) (any bytes; invalid UTF-8 is kept, byte by byte). With `special`, the text of
 * special tokens becomes their id; without, it is ordinary text, as a user's text must be. Doesn't
 * add bos. *ids is malloc'ed, the caller frees. Returns the count, or -1 and *e. */
int32_t tokenizer_encode(const struct tokenizer *t, const char *text, size_t n, bool special,
                         int32_t **ids, struct err *e);

/* The bytes of one token; special tokens give none unless `special`. */
const char *tokenizer_token_bytes(const struct tokenizer *t, int32_t id, bool special, size_t *n);

struct chat_message {
    const char *role;    /* "system", "user", "assistant" */
    const char *content; /* NUL-terminated UTF-8 */
};

/* Applies the model's chat template and encodes: markers as special tokens, contents as ordinary
 * text, then the opening of the assistant's turn; bos where the model wants it. */
int32_t tokenizer_encode_chat(const struct tokenizer *t, const struct chat_message *messages,
                              size_t n_messages, int32_t **ids, struct err *e);

/* Streaming detokenisation of one answer. Zero-initialised is ready. */
struct detokenizer {
    unsigned char held[8]; /* the bytes of an unfinished character */
    int32_t n_held;
};

/* Takes the next token and writes the text that is complete now: whole characters, invalid bytes as
 * U+FFFD. May write nothing. out must hold 3 * (bytes of the token + 8). Returns the bytes written.
 */
size_t detokenize(const struct tokenizer *t, struct detokenizer *d, int32_t id, char *out);
/* At the end of an answer: what is still held becomes U+FFFD. out must hold 24 bytes. */
size_t detokenize_end(struct detokenizer *d, char *out);

#endif
