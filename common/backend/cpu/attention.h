/* attention.h: causal attention of new tokens over the paged cache, grouped heads included.
 *
 * out = softmax(scale * q . k) v over the keys at positions 0 .. position of the query, or over the
 * last `window` of them. The keys are taken in chunks of ATTENTION_CHUNK positions counted from 0.
 * Each chunk has its own maximum, sum and weighted values; the chunks are then joined in order of
 * position (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018). A score is
 * one chain of fused multiply-adds over the head's values in order, a weighted value one chain over
 * the chunk's keys. None of this depends on the block table, the other queries or the threads, so a
 * token's result has the same bits in prefill and in decode, alone and in a batch.
 *
 * The cache of one layer: keys (block, kv_head, head_pad, 16), values (block, kv_head, 16,
 * head_pad), float or half precision, head_pad = attention_head_pad(head_dim), zeros in the
 * padding. Keys are stored transposed, so that one vector holds one value of several keys. Half
 * precision is widened exactly when it is read; all sums are in float.
 */
#ifndef SERVELAB_BACKEND_CPU_ATTENTION_H
#define SERVELAB_BACKEND_CPU_ATTENTION_H

#include "backend/cpu/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ATTENTION_CHUNK = 128, /* keys; 8 blocks are 64 KB of keys and values at head_dim 64 */
    ATTENTION_MAX_HEAD_DIM = 1024
};

static inline int32_t attention_head_pad(int32_t head_dim) {
    return (head_dim + 15) / 16 * 16;
}

struct attention_shape {
    int32_t n_heads, n_kv_heads, head_dim;
    float scale; /* 1 / sqrt(head_dim) */
    bool half;   /* the cache is in half precision */
    /* Planted faults (cpu.h). */
    bool interleaved_groups; /* query head h reads KV head h % n_kv_heads, not h / group */
    int32_t lost_block;      /* this logical block reads as zeros; -1: none */
};

/* Consecutive queries of one sequence. */
struct attention_span {
    const int32_t *block_table; /* covers the last query's position */
    int32_t pos0;               /* position of the first query */
    int32_t n_queries;          /* >= 1 */
    int32_t row0;               /* of the first query in q and out */
};

struct attention; /* the work list of a step and each thread's scratch */

/* The arguments are the limits of every later call. NULL: out of memory. */
struct attention *attention_create(const struct attention_shape *shape, int32_t threads,
                                   int32_t max_spans, int32_t max_queries, int32_t max_seq_tokens);
void attention_free(struct attention *a);

/* Divides the spans' work into items; `spans` must stay valid until the last attention_run that
 * uses them. */
void attention_plan(struct attention *a, const struct attention_span *spans, int32_t n_spans);

/* Attention of one layer over the planned spans. q, out: (rows, stride) with n_heads * head_dim
 * values a row; q is rotated already, and the new keys and values are in the cache already. window
 * 0: a query sees all keys up to its position. */
void attention_run(struct attention *a, struct pool *pool, const float *q, int32_t q_stride,
                   const void *keys, const void *values, int32_t window, float *out,
                   int32_t out_stride);

/* Writes one token's key and value (head_dim values of one KV head) into slot `slot` of the block
 * that starts at `keys` and `values`. */
void attention_put(const struct attention_shape *shape, void *keys, void *values, int32_t slot,
                   const float *k, const float *v);

static inline size_t attention_value_bytes(bool half) {
    return half ? 2 : 4;
}
/* Bytes of one KV head in one block, of keys or values. */
static inline size_t attention_head_block(const struct attention_shape *s) {
    return 16 * (size_t)attention_head_pad(s->head_dim) * attention_value_bytes(s->half);
}

#endif
