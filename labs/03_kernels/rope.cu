/* rope.cu: rotary positions, with the write into the paged cache. Defined in backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin rope.cu
 */
#include "backend/kernels.h"

KERNEL rope(float *q, bf16 *kpool, bf16 *vpool, const float *k, const float *v,
            const float *cosines, const float *sines, const int32_t *position, const int32_t *slot,
            int32_t tokens, int32_t q_heads, int32_t kv_heads, int32_t head_dim) {
    LAB_TODO_KERNEL("rope");
}
