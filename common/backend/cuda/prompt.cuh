/* prompt.cuh: attention of a prompt's rows on tensor cores, over any cache of CUDA_BF16: with or
 * without a sliding window, of bf16 or of 8 bits (paged.cuh says how these lie).
 *
 * Queries and weights are rounded to bf16, as keys and values are; all sums are in float. Codes of
 * 8 bits are whole numbers that bf16 has exactly; their scales multiply scores and weights.
 */
#ifndef SERVELAB_BACKEND_CUDA_PROMPT_CUH
#define SERVELAB_BACKEND_CUDA_PROMPT_CUH

#include "backend/kernels.h"

enum { PROMPT_QUERIES = 64, PROMPT_THREADS = 128 }; /* of a block */

/* out[t] of the token at position pos0 + t, which sees itself and the tokens before it, with a
 * window the window - 1 last ones; 0: all. kscale NULL: pools of bf16. head_dim: a multiple of 16,
 * at most KERNEL_MAX_HEAD_DIM. Grid: q_heads, ceil(tokens / PROMPT_QUERIES). */
KERNEL attention_prompt(float *out,     // (tokens, q_heads, head_dim)
                        const float *q, // (tokens, q_heads, head_dim)
                        const void *kpool, const void *vpool, const float *kscale,
                        const float *vscale,
                        const int32_t *table, // (ceil((pos0 + tokens) / 16))
                        int32_t pos0, int32_t tokens, int32_t q_heads, int32_t kv_heads,
                        int32_t head_dim, int32_t window, float scale);

#endif
