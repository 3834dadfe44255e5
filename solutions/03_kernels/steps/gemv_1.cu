/* gemv_1.cu: matrix times vector, bf16 weights, version 1 of 4.
 *
 * A thread a row.
 *
 * Moves: 33 bytes a weight; the minimum is 2.
 * Does: 2 rows cols operations.
 * Counter: 32 sectors a request for W.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/gemv_1.cu
 */
#include "backend/kernels.h"

KERNEL gemv(float *y, const bf16 *w, const float *x, int32_t rows, int32_t cols) {
    int32_t r = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (r >= rows) return;
    float sum = 0;
    for (int32_t c = 0; c < cols; c++) sum += __bfloat162float(w[(size_t)r * cols + c]) * x[c];
    y[r] = sum;
}
