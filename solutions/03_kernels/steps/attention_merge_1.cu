/* attention_merge_1.cu: joining the splits, version 1 of 2.
 *
 * A thread a head.
 *
 * Moves: about eight times what is needed.
 * Does: 2 operations a head, split and value.
 * Counter: 32 sectors a request.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin \
 *     solutions/03_kernels/steps/attention_merge_1.cu
 */
#include "backend/kernels.h"

KERNEL attention_merge(float *out, const float *partial, const float *split_max,
                       const float *split_sum, int32_t seqs, int32_t q_heads, int32_t head_dim,
                       int32_t splits) {
    int32_t r = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (r >= seqs * q_heads) return;
    float greatest = -INFINITY, sum = 0;
    for (int32_t s = r * splits; s < (r + 1) * splits; s++)
        if (split_sum[s] > 0) greatest = fmaxf(greatest, split_max[s]);
    for (int32_t s = r * splits; s < (r + 1) * splits; s++)
        if (split_sum[s] > 0) sum += expf(split_max[s] - greatest) * split_sum[s];
    for (int32_t i = 0; i < head_dim; i++) {
        float v = 0;
        for (int32_t s = r * splits; s < (r + 1) * splits; s++)
            if (split_sum[s] > 0)
                v += expf(split_max[s] - greatest) * partial[(size_t)s * head_dim + i];
        out[(size_t)r * head_dim + i] = v / sum;
    }
}
