/* rmsnorm_2.cu: RMSNorm with the residual added, version 2 of 4.
 *
 * A block a row: accesses are coalesced, and the threads' sums are joined by a tree in shared
 * memory, halving the number of sums between barriers. Blocks of 256 threads.
 *
 * Moves: 24 rows d bytes; the sum is read a second time.
 * Does: 5 rows d operations.
 * Counter: bytes: 24 rows d instead of 160.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/rmsnorm_2.cu
 */
#include "backend/kernels.h"

enum { THREADS = 256 };

KERNEL rmsnorm(float *out, float *residual, const float *x, const float *weight, int32_t rows,
               int32_t d, float eps) {
    __shared__ float sum[THREADS];
    int32_t t = (int32_t)threadIdx.x;
    size_t row = (size_t)blockIdx.x * d;
    float squares = 0;
    for (int32_t i = t; i < d; i += THREADS) {
        float v = residual[row + i] + x[row + i];
        residual[row + i] = v;
        squares += v * v;
    }
    sum[t] = squares;
    __syncthreads();
    for (int32_t half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) sum[t] += sum[t + half];
        __syncthreads();
    }
    float scale = rsqrtf(sum[0] / (float)d + eps);
    for (int32_t i = t; i < d; i += THREADS) out[row + i] = weight[i] * (residual[row + i] * scale);
}
