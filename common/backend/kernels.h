/* kernels.h: the prototypes of lab 03's kernels, those that a CUDA backend of the server needs; one
 * .cu file a kernel.
 *
 * A kernel is device code only, with C linkage and the exact signature below. Its launch shape is
 * data, in launch.json beside it (launch.h), so that no host code of the learner runs. Shapes,
 * bytes, operations and budgets are data too (kernel_spec.h). A plain C file that includes this
 * header gets the constants only.
 *
 * Types. Weights and the KV cache are bf16: they are nearly all of the bytes that decoding moves,
 * and models are published in bf16. All other tensors (the residual stream, q, k, v, the gate, the
 * logits) are float, and all sums are taken in float. These tensors are small. Float makes the
 * results equal to the native backend's up to the order of sums, so that the two can be compared
 * token for token. A bf16 value widens to float exactly. Norm weights are float, as in the native
 * backend.
 *
 * Rules. Matrices are row-major; shapes are written outermost first. Every tensor starts at a
 * multiple of 256 bytes (cudaMalloc guarantees it). Where "% 8" is stated below, every row is a
 * whole number of 16-byte words, so that vector loads are legal. Sizes are at least 1. A kernel
 * writes every element of its outputs and nothing else; inputs keep their values.
 */
#ifndef SERVELAB_BACKEND_KERNELS_H
#define SERVELAB_BACKEND_KERNELS_H

#include "base/kv_block.h" /* KV_BLOCK_TOKENS = 16, the slots of a KV block */

#include <stdint.h>

enum {
    KERNEL_MAX_NORM = 8192, /* widest row of rmsnorm: 256 threads keep 32 values each */
    KERNEL_MAX_HEAD_DIM = 128
};

/* A starter has this in place of the kernel's body. While a file has it, the kernel counts as not
 * attempted (kernel_spec.h: kernel_not_attempted). It does nothing, so every starter compiles. */
#define LAB_TODO_KERNEL(name) ((void)0)

#if defined(__CUDACC__) || defined(SERVELAB_SIMT) || defined(__SIMT__)
#include <cuda_bf16.h>
typedef __nv_bfloat16 bf16;
#define KERNEL extern "C" __global__ void

/* ---- the warm-up ---- */

/* out[i] = in[i]. */
KERNEL copy(float *out,      // (n)
            const float *in, // (n)
            int32_t n);

/* out[r][c] = in[r][c]: a part of a wider matrix, as the queries are of a row that holds q, k and
 * v. cols % 8 == 0, stride % 8 == 0, stride >= cols. */
KERNEL copy_strided(float *out,      // (rows, cols)
                    const float *in, // (rows, stride), of which the first cols columns are read
                    int32_t rows, int32_t cols, int32_t stride);

/* ---- single rows ---- */

/* residual[r] += x[r], then out[r] = weight * residual[r] / sqrt(mean(residual[r]^2) + eps).
 * d % 8 == 0, d <= KERNEL_MAX_NORM. */
KERNEL rmsnorm(float *out,          // (rows, d)
               float *residual,     // (rows, d), updated in place
               const float *x,      // (rows, d)
               const float *weight, // (d)
               int32_t rows, int32_t d, float eps);

/* out[r][i] = exp(x[r][i] - max) / sum of exp(x[r][j] - max). d % 8 == 0. */
KERNEL softmax(float *out,     // (rows, d)
               const float *x, // (rows, d)
               int32_t rows, int32_t d);

/* Rotates q in place, and writes the rotated k, and v, into the paged cache. A head's value i,
 * below half = head_dim / 2, pairs with value i + half: (a, b) becomes (a cos - b sin, a sin + b
 * cos), with the angle at [position[t]][i]. (For a model that pairs neighbours, the rows of the
 * query and key matrices are reordered when it is loaded.) The host computes the tables in double.
 * slot[t] = physical block * 16 + slot in it, all different. Other slots keep their values.
 * head_dim % 8 == 0. */
KERNEL rope(float *q,                // (tokens, q_heads, head_dim), rotated in place
            bf16 *kpool,             // (pool_blocks, kv_heads, 16, head_dim)
            bf16 *vpool,             // (pool_blocks, kv_heads, 16, head_dim)
            const float *k,          // (tokens, kv_heads, head_dim)
            const float *v,          // (tokens, kv_heads, head_dim)
            const float *cosines,    // (positions, head_dim / 2)
            const float *sines,      // (positions, head_dim / 2)
            const int32_t *position, // (tokens), each below positions
            const int32_t *slot,     // (tokens)
            int32_t tokens, int32_t q_heads, int32_t kv_heads, int32_t head_dim);

/* out = gate / (1 + exp(-gate)) * up. d % 8 == 0. */
KERNEL swiglu(float *out,           // (rows, d)
              const float *gate_up, // (rows, 2 d): a row's gate, then its up
              int32_t rows, int32_t d);

/* out[t] = table[id[t]]. d % 8 == 0. */
KERNEL embedding(float *out,        // (tokens, d)
                 const bf16 *table, // (vocab, d)
                 const int32_t *id, // (tokens), each below vocab
                 int32_t tokens, int32_t d);

/* ---- matrix products ---- */

/* C = A B. n % 4 == 0, k % 4 == 0; m is free. */
KERNEL gemm(float *c,       // (m, n)
            const float *a, // (m, k)
            const float *b, // (k, n)
            int32_t m, int32_t n, int32_t k);

/* y = W x, the product of decoding one token. cols % 8 == 0. */
KERNEL gemv(float *y,       // (rows)
            const bf16 *w,  // (rows, cols)
            const float *x, // (cols)
            int32_t rows, int32_t cols);

/* y[r] = scale[r] * (W x)[r] with weights of one byte. cols % 16 == 0. */
KERNEL gemv_int8(float *y,           // (rows)
                 const int8_t *w,    // (rows, cols), -127 .. 127
                 const float *scale, // (rows)
                 const float *x,     // (cols)
                 int32_t rows, int32_t cols);

/* ---- attention over the paged cache ----
 * Query head h reads KV head h / (q_heads / kv_heads). A sequence's key at position p is in slot
 * p % 16 of block table[p / 16]; blocks are in any order. Slots of a listed block that hold no key
 * yet hold finite numbers (the server clears its pool once) and must not count. head_dim: a
 * multiple of 16, at most KERNEL_MAX_HEAD_DIM. A KV head has at most 32 query heads. scale is 1 /
 * sqrt(head_dim). Results must have the accuracy of float arithmetic (tolerances: kernel_spec.h).
 * Tensor cores take bf16. Keys and values are bf16, but a query or a softmax weight rounded to one
 * bf16 exceeds the tolerance; split it into two bf16, the value and the remainder.
 */

/* Causal attention of one sequence's new tokens. Token t is at position pos0 + t; its key is
 * already in the cache. */
KERNEL attention_prefill(float *out,                 // (tokens, q_heads, head_dim)
                         const float *q,             // (tokens, q_heads, head_dim)
                         const bf16 *kpool,          // (pool_blocks, kv_heads, 16, head_dim)
                         const bf16 *vpool,          // (pool_blocks, kv_heads, 16, head_dim)
                         const int32_t *block_table, // (ceil((pos0 + tokens) / 16))
                         int32_t pos0, int32_t tokens, int32_t q_heads, int32_t kv_heads,
                         int32_t head_dim, float scale);

/* One new token of each of seqs sequences, its keys divided among `splits` blocks of threads. With
 * B = ceil(length / 16) and S = ceil(B / splits), split i has the table's blocks from i S up to,
 * not including, min((i + 1) S, B). Its results are its greatest score, the sum of exp(score -
 * greatest), and the values weighted by these exponentials, not divided by the sum. A split without
 * keys writes zeros to all three. */
KERNEL attention_decode(float *partial,              // (seqs, q_heads, splits, head_dim)
                        float *split_max,            // (seqs, q_heads, splits)
                        float *split_sum,            // (seqs, q_heads, splits)
                        const float *q,              // (seqs, q_heads, head_dim)
                        const bf16 *kpool,           // (pool_blocks, kv_heads, 16, head_dim)
                        const bf16 *vpool,           // (pool_blocks, kv_heads, 16, head_dim)
                        const int32_t *block_tables, // (seqs, max_blocks)
                        const int32_t *length,       // (seqs), the new token included
                        int32_t seqs, int32_t max_blocks, int32_t q_heads, int32_t kv_heads,
                        int32_t head_dim, int32_t splits, float scale);

/* Joins the splits: out = sum of e_i partial_i / sum of e_i sum_i, e_i = exp(max_i - greatest max)
 * over the splits with sum_i > 0. */
KERNEL attention_merge(float *out,             // (seqs, q_heads, head_dim)
                       const float *partial,   // (seqs, q_heads, splits, head_dim)
                       const float *split_max, // (seqs, q_heads, splits)
                       const float *split_sum, // (seqs, q_heads, splits)
                       int32_t seqs, int32_t q_heads, int32_t head_dim, int32_t splits);

/* ---- the next token ---- */

/* The index of the greatest logit, the lowest one on a tie. vocab % 8 == 0. */
KERNEL argmax(int32_t *out,        // (rows)
              const float *logits, // (rows, vocab), finite
              int32_t rows, int32_t vocab);

/* Draws an index: token i has the weight w_i = exp((logit_i - greatest) / temperature). In the
 * order of falling weight, and of rising index where weights are equal, the first top_k are kept
 * (all of them when top_k is 0 or at least vocab), and of those the fewest whose weights reach
 * top_p of the kept ones' sum, at least one. out is the first kept index, in rising order, at which
 * the running sum of kept weights exceeds uniform times their total. vocab % 8 == 0, temperature >
 * 0, 0 < top_p <= 1. */
KERNEL sample(int32_t *out,         // (rows)
              const float *logits,  // (rows, vocab), finite
              const float *uniform, // (rows), in [0, 1)
              int32_t rows, int32_t vocab, int32_t top_k, float temperature, float top_p);
#endif

#endif
