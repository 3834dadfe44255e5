/* gemm_3.cu: matrix product in float, version 3 of 5.
 *
 * Tiles of 32 by 32 in shared memory: each value that was loaded is used 32 times. B's tile is kept
 * transposed, so that both factors are read along a row, as is fast on a CPU. Blocks of 32 by 32
 * threads.
 *
 * Moves: 8 bytes for every 64 operations.
 * Does: 2 m n k operations.
 * Counter: bytes: a 32nd of A's and B's. (But a warp's 32 lanes read one column of b_tile, all in
 * one bank.)
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/gemm_3.cu
 */
#include "backend/kernels.h"

enum { TILE = 32 };

KERNEL gemm(float *c, const float *a, const float *b, int32_t m, int32_t n, int32_t k) {
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE]; /* b_tile[col][l] */
    int32_t x = (int32_t)threadIdx.x, y = (int32_t)threadIdx.y;
    int32_t row = (int32_t)blockIdx.y * TILE + y, col = (int32_t)blockIdx.x * TILE + x;
    float sum = 0;
    for (int32_t l = 0; l < k; l += TILE) {
        a_tile[y][x] = row < m && l + x < k ? a[(size_t)row * k + l + x] : 0;
        b_tile[x][y] = col < n && l + y < k ? b[(size_t)(l + y) * n + col] : 0;
        __syncthreads();
        for (int32_t i = 0; i < TILE; i++) sum += a_tile[y][i] * b_tile[x][i];
        __syncthreads();
    }
    if (row < m && col < n) c[(size_t)row * n + col] = sum;
}
