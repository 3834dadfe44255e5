/* attention_prefill.cu: causal attention of a prompt. Defined in backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin attention_prefill.cu
 */
#include "backend/kernels.h"

KERNEL attention_prefill(float *out, const float *q, const bf16 *kpool, const bf16 *vpool,
                         const int32_t *block_table, int32_t pos0, int32_t tokens, int32_t q_heads,
                         int32_t kv_heads, int32_t head_dim, float scale) {
    LAB_TODO_KERNEL("attention_prefill");
}
