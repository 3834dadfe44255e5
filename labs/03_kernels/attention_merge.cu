/* attention_merge.cu: joins the splits of attention_decode. Defined in backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin attention_merge.cu
 */
#include "backend/kernels.h"

KERNEL attention_merge(float *out, const float *partial, const float *split_max,
                       const float *split_sum, int32_t seqs, int32_t q_heads, int32_t head_dim,
                       int32_t splits) {
    LAB_TODO_KERNEL("attention_merge");
}
