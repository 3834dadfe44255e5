/* gemm_2.cu: matrix product in float, version 2 of 5.
 *
 * Neighbouring threads take neighbouring columns of C: a warp reads one value of A, which all its
 * lanes share, and 32 neighbours of B. Blocks of 32 by 8 threads.
 *
 * Moves: 160 bytes for every 64 operations.
 * Does: 2 m n k operations.
 * Counter: bytes: 5 sectors for two requests instead of 33.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/gemm_2.cu
 */
#include "backend/kernels.h"

KERNEL gemm(float *c, const float *a, const float *b, int32_t m, int32_t n, int32_t k) {
    int32_t row = (int32_t)(blockIdx.y * blockDim.y + threadIdx.y);
    int32_t col = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= m || col >= n) return;
    float sum = 0;
    for (int32_t l = 0; l < k; l++) sum += a[(size_t)row * k + l] * b[(size_t)l * n + col];
    c[(size_t)row * n + col] = sum;
}
