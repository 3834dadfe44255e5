/* An honest variant: cooperative groups, dynamic shared memory, two values at once, blocks of 128.
 */
#include "backend/kernels.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

KERNEL rmsnorm(float *out, float *residual, const float *x, const float *weight, int32_t rows,
               int32_t d, float eps) {
    extern __shared__ float warp_sums[];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    size_t row = (size_t)blockIdx.x * (size_t)d;
    float2 *r = (float2 *)(residual + row);
    const float2 *in = (const float2 *)(x + row), *w = (const float2 *)weight;
    float sum = 0;
    for (int32_t i = (int32_t)block.thread_rank(); i < d / 2; i += (int32_t)block.size()) {
        float2 v = r[i], a = in[i];
        v.x += a.x;
        v.y += a.y;
        r[i] = v;
        sum += v.x * v.x + v.y * v.y;
    }
    sum = cg::reduce(warp, sum, cg::plus<float>());
    if (warp.thread_rank() == 0) warp_sums[threadIdx.x / 32] = sum;
    block.sync();
    float total = warp_sums[0] + warp_sums[1] + warp_sums[2] + warp_sums[3];
    float scale = 1.0f / sqrtf(total / (float)d + eps);
    for (int32_t i = (int32_t)block.thread_rank(); i < d / 2; i += (int32_t)block.size()) {
        float2 v = r[i], g = w[i];
        ((float2 *)(out + row))[i] = make_float2(g.x * (v.x * scale), g.y * (v.y * scale));
    }
}
