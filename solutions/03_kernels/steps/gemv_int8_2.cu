/* gemv_int8_2.cu: matrix times vector, int8 weights, version 2 of 3.
 *
 * Four weights at once. Blocks of 256 threads.
 *
 * Moves: 1 byte of W and 4 of x for every weight.
 * Does: 2 rows cols operations.
 * Counter: requests: 2 for every 128 weights instead of 2 for every 32.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/gemv_int8_2.cu
 */
#include "backend/kernels.h"

/* Four signed bytes. */
static __device__ float4 widen(char4 four) {
    return make_float4(four.x, four.y, four.z, four.w);
}
static __device__ float warp_sum(float v) {
    for (int32_t offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(~0u, v, offset);
    return v;
}

KERNEL gemv_int8(float *y, const int8_t *w, const float *scale, const float *x, int32_t rows,
                 int32_t cols) {
    int32_t r = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int32_t lane = (int32_t)threadIdx.x % 32;
    if (r >= rows) return; /* the whole warp */
    float sum = 0;
    for (int32_t c = lane * 4; c < cols; c += 128) {
        float4 a = widen(*reinterpret_cast<const char4 *>(w + (size_t)r * cols + c));
        float4 b = *reinterpret_cast<const float4 *>(x + c);
        sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    sum = warp_sum(sum);
    if (lane == 0) y[r] = scale[r] * sum;
}
