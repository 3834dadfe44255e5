/* kernels.h: the device kernels of the CUDA backend. Lab 03 writes them, one .cu a kernel.
 *
 * Every kernel is device code only, with C linkage and the exact signature below; its launch shape
 * is data (struct launch_shape, read from the file's comment line `// launch: threads=256
 * shared_bytes=1024 rows_per_block=1`), so that a grader can run it without running any host code
 * of the learner's. Matrices are row-major; `bf16` is
 * __nv_bfloat16. Sums are taken in float. No kernel may write outside its outputs or change its
 * inputs.
 */
#ifndef SERVELAB_BACKEND_KERNELS_H
#define SERVELAB_BACKEND_KERNELS_H

#include <stdint.h>

#ifdef __cplusplus
#define KERNEL_ABI extern "C"
#else
#define KERNEL_ABI
#endif

struct launch_shape {
    int32_t threads;      /* per block, 1..1024 */
    int32_t shared_bytes; /* dynamic shared memory */
    int32_t
        items_per_block; /* rows, tokens or columns one block handles: the grid follows from it */
};

#if defined(__CUDACC__) || defined(SERVELAB_SIMT)
#include <cuda_bf16.h>
typedef __nv_bfloat16 bf16;

/* out[r] = weight * (x[r] + residual[r]) / sqrt(mean_square + eps); residual is updated in place
 * when not NULL. x, residual, out: (rows, d); weight: (d). */
KERNEL_ABI __global__ void rmsnorm(bf16 *out, const bf16 *x, bf16 *residual, const bf16 *weight,
                                   int32_t rows, int32_t d, float eps);

/* Rotates q in place and writes rotated k, and v, into the paged cache. q: (tokens, q_heads,
 * head_dim); k, v: (tokens, kv_heads, head_dim); kpool, vpool: (block, kv_head, slot, head_dim);
 * slot_of: (tokens) = block * 16 + slot. */
KERNEL_ABI __global__ void rope_kv_write(bf16 *q, const bf16 *k, const bf16 *v, bf16 *kpool,
                                         bf16 *vpool, const int32_t *position,
                                         const int32_t *slot_of, int32_t tokens, int32_t q_heads,
                                         int32_t kv_heads, int32_t head_dim, float theta);

/* out = silu(gate) * up; all (rows, d). gate_up: (rows, 2 d), gate first. */
KERNEL_ABI __global__ void swiglu(bf16 *out, const bf16 *gate_up, int32_t rows, int32_t d);

/* out[t] = table[id[t]]; table: (vocab, d). */
KERNEL_ABI __global__ void embedding(bf16 *out, const bf16 *table, const int32_t *id,
                                     int32_t tokens, int32_t d);

/* y = W x for one token; W: (rows, cols). */
KERNEL_ABI __global__ void gemv_bf16(float *y, const bf16 *w, const bf16 *x, int32_t rows,
                                     int32_t cols);
/* The same with int8 weights and one scale per row. */
KERNEL_ABI __global__ void gemv_int8(float *y, const int8_t *w, const float *scale, const bf16 *x,
                                     int32_t rows, int32_t cols);
/* C = A B; A: (m, k), B: (k, n), C: (m, n). */
KERNEL_ABI __global__ void gemm(bf16 *c, const bf16 *a, const bf16 *b, int32_t m, int32_t n,
                                int32_t k);

/* Row softmax, numerically safe, one pass over the maximum and the sum. x, out: (rows, d). */
KERNEL_ABI __global__ void softmax(float *out, const float *x, int32_t rows, int32_t d);

/* Causal attention of one sequence's new tokens over its paged cache. q, out: (tokens, q_heads,
 * head_dim); position of token t is pos0 + t; scale is 1 / sqrt(head_dim). */
KERNEL_ABI __global__ void attention_prefill(bf16 *out, const bf16 *q, const bf16 *kpool,
                                             const bf16 *vpool, const int32_t *block_table,
                                             int32_t pos0, int32_t tokens, int32_t q_heads,
                                             int32_t kv_heads, int32_t head_dim, float scale);
/* One new token of each of `seqs` sequences, split over the keys. block_tables: (seqs, max_blocks);
 * length: (seqs), the new token included. partial: (seqs, q_heads, splits, head_dim + 2) float
 * scratch. */
KERNEL_ABI __global__ void attention_decode(float *partial, const bf16 *q, const bf16 *kpool,
                                            const bf16 *vpool, const int32_t *block_tables,
                                            const int32_t *length, int32_t seqs, int32_t max_blocks,
                                            int32_t q_heads, int32_t kv_heads, int32_t head_dim,
                                            int32_t splits, float scale);
KERNEL_ABI __global__ void attention_decode_merge(bf16 *out, const float *partial, int32_t seqs,
                                                  int32_t q_heads, int32_t head_dim,
                                                  int32_t splits);

/* Index of the greatest logit of each row, the lowest index on a tie. logits: (rows, vocab). */
KERNEL_ABI __global__ void argmax(int32_t *out, const float *logits, int32_t rows, int32_t vocab);
/* One sample of each row after temperature, top-k and top-p; uniform: (rows) in [0, 1). */
KERNEL_ABI __global__ void sample(int32_t *out, const float *logits, const float *uniform,
                                  int32_t rows, int32_t vocab, float temperature, int32_t top_k,
                                  float top_p);
#endif

#endif
