/* attention_decode.cu: attention of one new token of each sequence, the keys split. Defined in
 * backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin attention_decode.cu
 */
#include "backend/kernels.h"

KERNEL attention_decode(float *partial, float *split_max, float *split_sum, const float *q,
                        const bf16 *kpool, const bf16 *vpool, const int32_t *block_tables,
                        const int32_t *length, int32_t seqs, int32_t max_blocks, int32_t q_heads,
                        int32_t kv_heads, int32_t head_dim, int32_t splits, float scale) {
    LAB_TODO_KERNEL("attention_decode");
}
