/* kernel_reference.h: computes each kernel of kernels.h on the CPU with plain loops in double.
 *
 * One loop nest a kernel, written from the definition in kernels.h: no tiles, no online softmax, no
 * shared intermediate results, so that it can be compared with the definition. Outputs are doubles,
 * not rounded to the type that the kernel stores. bf16 is uint16_t here.
 */
#ifndef SERVELAB_BACKEND_KERNEL_REFERENCE_H
#define SERVELAB_BACKEND_KERNEL_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

double reference_bf16(uint16_t h);         /* exact */
uint16_t reference_bf16_nearest(double d); /* ties to even; d is finite */

void reference_copy_strided(double *out, const float *in, int64_t rows, int64_t cols,
                            int64_t stride);
/* residual_out: (rows, d); `residual` isn't changed. */
void reference_rmsnorm(double *out, double *residual_out, const float *residual, const float *x,
                       const float *weight, int64_t rows, int64_t d, double eps);
void reference_softmax(double *out, const float *x, int64_t rows, int64_t d);

struct reference_heads {
    int64_t q_heads, kv_heads, head_dim;
};
/* q_out: (tokens, q_heads, head_dim). kpool_out, vpool_out hold the pools' old values already. */
void reference_rope(double *q_out, double *kpool_out, double *vpool_out, const float *q,
                    const float *k, const float *v, const float *cosines, const float *sines,
                    const int32_t *position, const int32_t *slot, int64_t tokens,
                    struct reference_heads heads);
void reference_swiglu(double *out, const float *gate_up, int64_t rows, int64_t d);
void reference_embedding(double *out, const uint16_t *table, const int32_t *id, int64_t tokens,
                         int64_t d);
void reference_gemm(double *c, const float *a, const float *b, int64_t m, int64_t n, int64_t k);
void reference_gemv(double *y, const uint16_t *w, const float *x, int64_t rows, int64_t cols);
void reference_gemv_int8(double *y, const int8_t *w, const float *scale, const float *x,
                         int64_t rows, int64_t cols);

/* The paged cache of one layer. */
struct reference_cache {
    const uint16_t *kpool, *vpool; /* (pool_blocks, kv_heads, 16, head_dim) */
    struct reference_heads heads;
    double scale;
};
void reference_attention_prefill(double *out, const float *q, const struct reference_cache *cache,
                                 const int32_t *block_table, int64_t pos0, int64_t tokens);
void reference_attention_decode(double *partial, double *split_max, double *split_sum,
                                const float *q, const struct reference_cache *cache,
                                const int32_t *block_tables, const int32_t *length, int64_t seqs,
                                int64_t max_blocks, int64_t splits);
void reference_attention_merge(double *out, const float *partial, const float *split_max,
                               const float *split_sum, int64_t seqs_times_heads, int64_t head_dim,
                               int64_t splits);

int32_t reference_argmax(const float *logits, int64_t vocab);

struct reference_sampling {
    int64_t vocab, top_k;
    double temperature, top_p;
};
/* The draw for one row; -1 if memory runs out. */
int32_t reference_sample(const float *logits, double uniform, const struct reference_sampling *c);
/* Whether a kernel that computes in float may return `id`: some top_p and some uniform number
 * within a relative 1e-4 of the given ones make the reference return it. */
bool reference_sample_allows(const float *logits, double uniform,
                             const struct reference_sampling *c, int32_t id);

#endif
