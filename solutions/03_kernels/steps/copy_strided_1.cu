/* copy_strided_1.cu: copy of a part of each row, version 1 of 3.
 *
 * A thread a row: neighbouring threads are a whole row apart, so each access of a warp touches 32
 * sectors.
 *
 * Moves: 64 rows cols bytes; the minimum is 8.
 * Does: nothing.
 * Counter: 32 sectors a request.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/copy_strided_1.cu
 */
#include "backend/kernels.h"

KERNEL copy_strided(float *out, const float *in, int32_t rows, int32_t cols, int32_t stride) {
    int32_t r = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (r >= rows) return;
    for (int32_t c = 0; c < cols; c++) out[(size_t)r * cols + c] = in[(size_t)r * stride + c];
}
