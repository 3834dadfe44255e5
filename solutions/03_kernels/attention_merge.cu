/* attention_merge.cu: joins the splits of attention_decode. Defined in backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin attention_merge.cu
 */
#include "backend/kernels.h"
// BEGIN SOLUTION
#include <float.h>
/* A block a head, a thread a value; every thread computes all of the few weights, online. Grid:
 * q_heads by seqs. Blocks of head_dim threads.
 *
 * Moves: the partial results once.
 * Does: 2 operations a head, split and value.
 * Counter: bytes: every access is coalesced or shared by the whole warp.
 */

// END SOLUTION

KERNEL attention_merge(float *out, const float *partial, const float *split_max,
                       const float *split_sum, int32_t seqs, int32_t q_heads, int32_t head_dim,
                       int32_t splits) {
    // BEGIN SOLUTION
    //| LAB_TODO_KERNEL("attention_merge");
    int32_t r = (int32_t)(blockIdx.y * gridDim.x + blockIdx.x), i = (int32_t)threadIdx.x;
    float greatest = -FLT_MAX, sum = 0, v = 0;
    for (int32_t s = r * splits; s < (r + 1) * splits; s++) {
        float of_split = split_sum[s];
        if (!(of_split > 0)) continue;
        float higher = fmaxf(greatest, split_max[s]);
        float keep = expf(greatest - higher), e = expf(split_max[s] - higher);
        greatest = higher;
        sum = sum * keep + e * of_split;
        v = v * keep + e * partial[(size_t)s * head_dim + i];
    }
    out[(size_t)r * head_dim + i] = v / sum;
    // END SOLUTION
}
