/* extra.cuh: the small kernels that the forward pass needs beside those of lab 03. One thread has
 * four values. */
#ifndef SERVELAB_BACKEND_CUDA_EXTRA_CUH
#define SERVELAB_BACKEND_CUDA_EXTRA_CUH

#include "backend/kernels.h"

/* out[0][i] = in[i], rounded; each further piece has what those before it leave, rounded.
 * n % 4 == 0. */
KERNEL split_bf16(bf16 *out,       // (pieces, n)
                  const float *in, // (n)
                  int32_t n, int32_t pieces);

/* y[r] += bias. d % 4 == 0. */
KERNEL add_bias(float *y,          // (rows, d)
                const float *bias, // (d)
                int32_t rows, int32_t d);

/* out[r] = in[row[r]]. d % 4 == 0. */
KERNEL gather(float *out,         // (rows, d)
              const float *in,    // (.., d)
              const int32_t *row, // (rows)
              int32_t rows, int32_t d);

/* rope of kernels.h for heads of two parts (struct heads): the first copy of a key or value is
 * rounded, the second is the remainder. pad % 8 == 0, head_dim = 2 pad. */
KERNEL rope_split(float *q,                // (tokens, q_heads, head_dim), rotated in place
                  bf16 *kpool,             // (pool_blocks, kv_heads, 16, head_dim)
                  bf16 *vpool,             // (pool_blocks, kv_heads, 16, head_dim)
                  const float *k,          // (tokens, kv_heads, head_dim)
                  const float *v,          // (tokens, kv_heads, head_dim)
                  const float *cosines,    // (positions, head_dim / 2)
                  const float *sines,      // (positions, head_dim / 2)
                  const int32_t *position, // (tokens)
                  const int32_t *slot,     // (tokens)
                  int32_t tokens, int32_t q_heads, int32_t kv_heads, int32_t head_dim);

#endif
