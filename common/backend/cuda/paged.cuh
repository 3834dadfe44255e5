/* paged.cuh: attention over a cache that lab 03's kernels don't take: with a sliding window, or
 * with keys and values in 8 bits. For decode, and with CUDA_EXACT for prompts (prompt.cuh has the
 * others).
 *
 * An 8-bit cache has one float scale for each head's key, and one for its value, of each token:
 * value = code * scale, codes -127 .. 127. Pools: (pool_blocks, kv_heads, 16, head_dim) of bf16 or
 * int8_t; scales (pool_blocks, kv_heads, 16). head_dim: a multiple of 16, at most
 * KERNEL_MAX_HEAD_DIM. A KV head has at most 32 query heads.
 */
#ifndef SERVELAB_BACKEND_CUDA_PAGED_CUH
#define SERVELAB_BACKEND_CUDA_PAGED_CUH

#include "backend/kernels.h"

/* rope of kernels.h, into pools of 8 bits. A warp has a head of a token. */
KERNEL rope_int8(float *q, // (tokens, q_heads, head_dim), rotated in place
                 int8_t *kpool, int8_t *vpool, float *kscale, float *vscale,
                 const float *k,          // (tokens, kv_heads, head_dim)
                 const float *v,          // (tokens, kv_heads, head_dim)
                 const float *cosines,    // (positions, head_dim / 2)
                 const float *sines,      // (positions, head_dim / 2)
                 const int32_t *position, // (tokens)
                 const int32_t *slot,     // (tokens)
                 int32_t tokens, int32_t q_heads, int32_t kv_heads, int32_t head_dim);

/* Causal attention of rows that are tokens of any position; results as attention_decode's. Row r is
 * at position[r]; its blocks are at table + r * table_stride (0: one sequence's rows). It sees
 * itself and the window - 1 tokens before it; window 0: all. kscale NULL: pools of bf16. Grid:
 * splits, kv_heads, rows; 32 threads for every query head of a group; shared memory for two blocks
 * of floats. */
KERNEL attention_paged(float *partial,   // (rows, q_heads, splits, head_dim)
                       float *split_max, // (rows, q_heads, splits)
                       float *split_sum, // (rows, q_heads, splits)
                       const float *q,   // (rows, q_heads, head_dim)
                       const void *kpool, const void *vpool, const float *kscale,
                       const float *vscale, const int32_t *table, int32_t table_stride,
                       const int32_t *position, // (rows)
                       int32_t q_heads, int32_t kv_heads, int32_t head_dim, int32_t window,
                       float scale);

#endif
