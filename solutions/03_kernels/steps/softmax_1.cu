/* softmax_1.cu: softmax of rows, version 1 of 4.
 *
 * A thread a row: greatest value, sum, result, one after the other.
 *
 * Moves: 128 rows d bytes; the minimum is 8.
 * Does: 5 rows d operations.
 * Counter: 32 sectors a request.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/softmax_1.cu
 */
#include "backend/kernels.h"

KERNEL softmax(float *out, const float *x, int32_t rows, int32_t d) {
    int32_t r = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (r >= rows) return;
    const float *row = x + (size_t)r * d;
    float greatest = row[0], sum = 0;
    for (int32_t i = 1; i < d; i++) greatest = fmaxf(greatest, row[i]);
    for (int32_t i = 0; i < d; i++) sum += expf(row[i] - greatest);
    for (int32_t i = 0; i < d; i++) out[(size_t)r * d + i] = expf(row[i] - greatest) / sum;
}
