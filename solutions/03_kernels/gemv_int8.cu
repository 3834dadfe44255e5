/* gemv_int8.cu: matrix times vector, int8 weights. Defined in backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin gemv_int8.cu
 */
#include "backend/kernels.h"

// BEGIN SOLUTION
/* A warp takes four rows, so that x is read once for all of them. Blocks of 256 threads.
 *
 * Moves: 1 byte of W and 1 of x for every weight.
 * Does: 2 rows cols operations.
 * Counter: bytes: 2 a weight instead of 5.
 */

enum { ROWS = 4 }; /* of a warp */

/* Four signed bytes. */
static __device__ float4 widen(char4 four) {
    return make_float4(four.x, four.y, four.z, four.w);
}
static __device__ float dot(float4 a, float4 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
static __device__ float warp_sum(float v) {
    for (int32_t offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(~0u, v, offset);
    return v;
}
// END SOLUTION

KERNEL gemv_int8(float *y, const int8_t *w, const float *scale, const float *x, int32_t rows,
                 int32_t cols) {
    // BEGIN SOLUTION
    //| LAB_TODO_KERNEL("gemv_int8");
    int32_t first = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x) / 32 * ROWS;
    int32_t lane = (int32_t)threadIdx.x % 32;
    if (first >= rows) return; /* the whole warp */
    float sum[ROWS] = {0, 0, 0, 0};
    for (int32_t c = lane * 4; c < cols; c += 128) {
        float4 of_x = *reinterpret_cast<const float4 *>(x + c);
#pragma unroll
        for (int32_t i = 0; i < ROWS; i++)
            if (first + i < rows) {
                const int8_t *from = w + (size_t)(first + i) * cols + c;
                sum[i] += dot(widen(*reinterpret_cast<const char4 *>(from)), of_x);
            }
    }
#pragma unroll
    for (int32_t i = 0; i < ROWS; i++) {
        float total = warp_sum(sum[i]);
        if (lane == 0 && first + i < rows) y[first + i] = scale[first + i] * total;
    }
    // END SOLUTION
}
