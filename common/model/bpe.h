/* bpe.h: encodes one word as token ids by byte-pair merging (Sennrich et al. 2016, on bytes).
 *
 * The merge of the lowest rank comes next, the leftmost of equals. Not here: splitting text into
 * words (pretokenizer.h), and a text's first ids where they aren't its bytes (spm.h).
 */
#ifndef SERVELAB_MODEL_BPE_H
#define SERVELAB_MODEL_BPE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing list of ids. Zero-initialised is empty. */
struct id_list {
    int32_t *ids;
    size_t n, cap;
};
/* 0, or -1 and *e when memory is out. */
int id_list_push(struct id_list *l, int32_t id, struct err *e);

struct bpe_merge {
    uint64_t pair; /* left id << 32 | right id; UINT64_MAX in an empty slot */
    int32_t rank, id;
};

struct bpe {
    int32_t byte_id[256];     /* the token of this one byte; -1: none */
    struct bpe_merge *merges; /* open addressing, n_slots a power of two */
    size_t n_slots;
};

/* Room for n_merges. byte_id starts as -1. 0, or -1 and *e. */
int bpe_init(struct bpe *b, size_t n_merges, struct err *e);
void bpe_release(struct bpe *b);
/* Adds the merge of left and right into id. Lower ranks come first. A pair given twice keeps its
 * first rank. At most n_merges calls. */
void bpe_add(struct bpe *b, int32_t left, int32_t right, int32_t id, int32_t rank);

/* Appends the ids of one word, n <= INT32_MAX bytes. A byte that has no token is left out before
 * merging, as in Hugging Face's tokenizers (SmolLM2 has none for 21 bytes, among them six control
 * characters). 0, or -1 and *e when memory is out. */
int bpe_encode(const struct bpe *b, const char *word, size_t n, struct id_list *out, struct err *e);

/* Merges ids[0..n), n <= INT32_MAX, which it changes, and appends the result. 0, or -1 and *e when
 * memory is out. */
int bpe_merge(const struct bpe *b, int32_t *ids, size_t n, struct id_list *out, struct err *e);

#endif
