/* tokenizer.h: converts text to token ids and back, as in the model's training.
 *
 * Byte-level BPE (GGUF "gpt2") with the model's pre-tokenizer pattern, SentencePiece's BPE (GGUF
 * "llama") with byte fallback, special tokens, the chat template, and streaming detokenisation that
 * never writes part of a UTF-8 character. An unknown pre-tokenizer or chat template is an error
 * that names it. Qwen2's text is brought to Unicode's normalisation form C first (nfc.h).
 *
 * A tokenizer doesn't change after tokenizer_create; several threads may use it.
 */
#ifndef SERVELAB_MODEL_TOKENIZER_H
#define SERVELAB_MODEL_TOKENIZER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gguf;
struct tokenizer;

/* Reads the vocabulary from the model file's metadata and copies it; `file` may be closed
 * afterwards. NULL and *e on failure. */
struct tokenizer *tokenizer_create(const struct gguf *file, struct err *e);
void tokenizer_free(struct tokenizer *t);

int32_t tokenizer_bos(const struct tokenizer *t); /* -1 when none */
int32_t tokenizer_eos(const struct tokenizer *t); /* -1 when none */
bool tokenizer_adds_bos(const struct tokenizer *t);
/* Does this id end an answer (eos, or an end-of-turn token)? */
bool tokenizer_ends(const struct tokenizer *t, int32_t id);
int32_t tokenizer_vocab_size(const struct tokenizer *t);
/* "chatml", "qwen2.5", "llama3", "llama3.1", "inst" (Llama 2 and Mistral), "plain"; "none" without
 * a template; "unknown" for another template. */
const char *tokenizer_chat_family(const struct tokenizer *t);
/* Takes a known template by its name ("mistral-v0.3", chat_template.c) instead of the file's.
 * False: there is none of this name. */
bool tokenizer_set_chat(struct tokenizer *t, const char *name);

/* Encodes text[0..n), any bytes. `special` true: the text of a special token (GGUF's control kind,
 * vocab.h) becomes its id, the longest of those that begin at one place. `special` false: it is
 * ordinary text, as a user's text must be. Words that were added to the vocabulary (user-defined
 * kind) are found in either case, as in training. Doesn't add bos. *ids is malloc'ed, the caller
 * frees. Returns the count, or -1 and *e.
 *
 * Ill-formed UTF-8: the text is cut before and after each byte that is not part of a well-formed
 * character; such a byte becomes the token of that one byte. A byte for which the vocabulary has no
 * token is left out, as in Hugging Face's tokenizers (SmolLM2 has none for 21 bytes: lead bytes
 * that are rare in valid text, and the control characters 04 06 13 14 16 1D). */
int32_t tokenizer_encode(const struct tokenizer *t, const char *text, size_t n, bool special,
                         int32_t **ids, struct err *e);

/* The bytes of one token, *n of them, valid as long as the tokenizer. *n is 0 for a special token
 * unless `special`, and for an id outside the vocabulary. */
const char *tokenizer_token_bytes(const struct tokenizer *t, int32_t id, bool special, size_t *n);

/* Encodes a raw prompt, as /v1/completions takes it: special tokens by their text, and bos before
 * them where the model needs it and the text doesn't begin with it. An empty text gives 0 ids. Else
 * as tokenizer_encode. */
int32_t tokenizer_encode_prompt(const struct tokenizer *t, const char *text, size_t n,
                                int32_t **ids, struct err *e);

struct chat_message {
    const char *role;     /* "system", "user", "assistant", "tool" */
    const char *content;  /* UTF-8 with a NUL behind it */
    size_t content_bytes; /* its length where it holds NULs itself; 0: up to its NUL */
};

/* Applies the model's chat template and encodes: markers as special tokens, contents as ordinary
 * text (a marker's text in a message is text), then the opening of the assistant's turn. Puts bos
 * first where the model needs it, and the template's default system message where there is one.
 * Templates are recognised, not interpreted (chat_template.h): -1 and *e for a model without one or
 * with an unknown one. */
int32_t tokenizer_encode_chat(const struct tokenizer *t, const struct chat_message *messages,
                              size_t n_messages, int32_t **ids, struct err *e);

/* Streaming detokenisation of one answer. Zero-initialised is ready. */
struct detokenizer {
    unsigned char held[4]; /* the bytes of an unfinished character */
    int32_t n_held;        /* 0 to 3 */
};

/* Takes the next token and writes the text that is complete now: whole characters, each maximal
 * ill-formed part as one U+FFFD (the rule of utf8.h). May write nothing; special tokens write
 * nothing. out must hold 3 * (bytes of the token + 8). Returns the number of bytes written. */
size_t detokenize(const struct tokenizer *t, struct detokenizer *d, int32_t id, char *out);
/* At the end of an answer: an unfinished character becomes U+FFFD. out must hold 24 bytes. */
size_t detokenize_end(struct detokenizer *d, char *out);

#endif
