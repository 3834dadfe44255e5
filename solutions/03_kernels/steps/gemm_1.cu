/* gemm_1.cu: matrix product in float, version 1 of 5.
 *
 * Neighbouring threads take neighbouring rows of C. Each load from A then touches 32 rows. Blocks
 * of 32 by 8 threads.
 *
 * Moves: 1056 bytes for every 64 operations.
 * Does: 2 m n k operations.
 * Counter: 32 sectors a request for A and for C.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/gemm_1.cu
 */
#include "backend/kernels.h"

KERNEL gemm(float *c, const float *a, const float *b, int32_t m, int32_t n, int32_t k) {
    int32_t row = (int32_t)(blockIdx.y * blockDim.x + threadIdx.x);
    int32_t col = (int32_t)(blockIdx.x * blockDim.y + threadIdx.y);
    if (row >= m || col >= n) return;
    float sum = 0;
    for (int32_t l = 0; l < k; l++) sum += a[(size_t)row * k + l] * b[(size_t)l * n + col];
    c[(size_t)row * n + col] = sum;
}
