/* gemv_3.cu: matrix times vector, bf16 weights, version 3 of 4.
 *
 * Four weights at once. Blocks of 256 threads.
 *
 * Moves: 2 bytes of W and 4 of x for every weight.
 * Does: 2 rows cols operations.
 * Counter: requests: 2 for every 128 weights instead of 2 for every 32.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/gemv_3.cu
 */
#include "backend/kernels.h"

/* Four bf16 in 8 bytes: a bf16 is the upper half of a float. */
static __device__ float4 widen(uint2 four) {
    return make_float4(__uint_as_float(four.x << 16), __uint_as_float(four.x & 0xffff0000u),
                       __uint_as_float(four.y << 16), __uint_as_float(four.y & 0xffff0000u));
}
static __device__ float warp_sum(float v) {
    for (int32_t offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(~0u, v, offset);
    return v;
}

KERNEL gemv(float *y, const bf16 *w, const float *x, int32_t rows, int32_t cols) {
    int32_t r = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int32_t lane = (int32_t)threadIdx.x % 32;
    if (r >= rows) return; /* the whole warp */
    float sum = 0;
    for (int32_t c = lane * 4; c < cols; c += 128) {
        float4 a = widen(*reinterpret_cast<const uint2 *>(w + (size_t)r * cols + c));
        float4 b = *reinterpret_cast<const float4 *>(x + c);
        sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    sum = warp_sum(sum);
    if (lane == 0) y[r] = sum;
}
