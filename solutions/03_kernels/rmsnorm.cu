/* rmsnorm.cu: RMSNorm with the residual added. Defined in backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin rmsnorm.cu
 */
#include "backend/kernels.h"

// BEGIN SOLUTION
/* The row stays in registers between its two uses, four values to an access. Blocks of 256 threads.
 *
 * Moves: 20 rows d bytes: x, the residual in and out, the weight, the result.
 * Does: 5 rows d operations.
 * Counter: bytes: 20 rows d instead of 24; requests: a quarter.
 */

enum { THREADS = 256, WARPS = THREADS / 32 };

/* The block's sum, on every thread: shuffles within a warp, one number a warp in shared memory, one
 * barrier. */
static __device__ float block_sum(float v) {
    __shared__ float of_warp[WARPS];
    for (int32_t offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(~0u, v, offset);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    float sum = 0;
    for (int32_t w = 0; w < WARPS; w++) sum += of_warp[w];
    return sum;
}

/* Fours of a row that one thread may hold: KERNEL_MAX_NORM values in 256 threads. The loops over
 * them are unrolled, so that they are registers. */
enum { FOURS = KERNEL_MAX_NORM / 4 / THREADS };

static __device__ float4 add(float4 a, float4 b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
static __device__ float4 times(float4 w, float4 v, float scale) {
    return make_float4(w.x * (v.x * scale), w.y * (v.y * scale), w.z * (v.z * scale),
                       w.w * (v.w * scale));
}
// END SOLUTION

KERNEL rmsnorm(float *out, float *residual, const float *x, const float *weight, int32_t rows,
               int32_t d, float eps) {
    // BEGIN SOLUTION
    //| LAB_TODO_KERNEL("rmsnorm");
    size_t row = (size_t)blockIdx.x * d;
    float4 *r4 = reinterpret_cast<float4 *>(residual + row);
    float4 *out4 = reinterpret_cast<float4 *>(out + row);
    const float4 *x4 = reinterpret_cast<const float4 *>(x + row);
    const float4 *w4 = reinterpret_cast<const float4 *>(weight);
    float4 v[FOURS];
    float squares = 0;
#pragma unroll
    for (int32_t f = 0; f < FOURS; f++) {
        int32_t i = f * THREADS + (int32_t)threadIdx.x;
        if (i >= d / 4) continue;
        v[f] = add(r4[i], x4[i]);
        r4[i] = v[f];
        squares += v[f].x * v[f].x + v[f].y * v[f].y + v[f].z * v[f].z + v[f].w * v[f].w;
    }
    float scale = rsqrtf(block_sum(squares) / (float)d + eps);
#pragma unroll
    for (int32_t f = 0; f < FOURS; f++) {
        int32_t i = f * THREADS + (int32_t)threadIdx.x;
        if (i < d / 4) out4[i] = times(w4[i], v[f], scale);
    }
    // END SOLUTION
}
