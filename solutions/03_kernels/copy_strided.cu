/* copy_strided.cu: copies the first cols columns of a wider matrix. Defined in backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin copy_strided.cu
 */
#include "backend/kernels.h"

// BEGIN SOLUTION
/* Threads are numbered over the fours of the whole output, not row by row.
 *
 * Moves: 8 rows cols bytes, the minimum.
 * Does: nothing.
 * Counter: requests: 2 for every 128 values, also where rows are narrow.
 */
// END SOLUTION

KERNEL copy_strided(float *out, const float *in, int32_t rows, int32_t cols, int32_t stride) {
    // BEGIN SOLUTION
    //| LAB_TODO_KERNEL("copy_strided");
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i >= rows * cols) return;
    int32_t r = i / cols, c = i % cols;
    *reinterpret_cast<float4 *>(out + i) =
        *reinterpret_cast<const float4 *>(in + (size_t)r * stride + c);
    // END SOLUTION
}
