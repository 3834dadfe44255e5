/* copy_strided_2.cu: copy of a part of each row, version 2 of 3.
 *
 * A block a row, neighbours to neighbouring threads. Rows narrower than the block leave threads
 * idle.
 *
 * Moves: 8 rows cols bytes, the minimum.
 * Does: nothing.
 * Counter: bytes: 8 rows cols instead of 64.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/copy_strided_2.cu
 */
#include "backend/kernels.h"

KERNEL copy_strided(float *out, const float *in, int32_t rows, int32_t cols, int32_t stride) {
    int32_t r = (int32_t)blockIdx.x;
    for (int32_t c = (int32_t)threadIdx.x; c < cols; c += (int32_t)blockDim.x)
        out[(size_t)r * cols + c] = in[(size_t)r * stride + c];
}
