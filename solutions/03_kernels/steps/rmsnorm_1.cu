/* rmsnorm_1.cu: RMSNorm with the residual added, version 1 of 4.
 *
 * A thread a row, as in C for a CPU.
 *
 * Moves: about 160 rows d bytes; the minimum is 16.
 * Does: 5 rows d operations.
 * Counter: 32 sectors a request.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/rmsnorm_1.cu
 */
#include "backend/kernels.h"

KERNEL rmsnorm(float *out, float *residual, const float *x, const float *weight, int32_t rows,
               int32_t d, float eps) {
    int32_t r = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (r >= rows) return;
    float squares = 0;
    for (int32_t i = 0; i < d; i++) {
        float v = residual[(size_t)r * d + i] + x[(size_t)r * d + i];
        residual[(size_t)r * d + i] = v;
        squares += v * v;
    }
    float scale = rsqrtf(squares / (float)d + eps);
    for (int32_t i = 0; i < d; i++)
        out[(size_t)r * d + i] = weight[i] * (residual[(size_t)r * d + i] * scale);
}
