/* An honest variant: tiles of 16 by 64, another order of loops, switch and a table in __constant__
 * memory, a device variable that counts for nothing, assert and printf that never speak.
 */
#include "backend/kernels.h"

#include <assert.h>
#include <stdio.h>

static __constant__ int32_t row_of[4] = {0, 4, 2 * 4, (int32_t)(3.0f * 4)};
static __device__ int32_t odd_sizes = 0;

KERNEL gemm(float *c, const float *a, const float *b, int32_t m, int32_t n, int32_t k) {
    __shared__ float a_tile[16][16];
    __shared__ float b_tile[16][64];
    int32_t x = (int32_t)threadIdx.x, y = (int32_t)threadIdx.y;
    int32_t col = (int32_t)blockIdx.x * 64 + x, top = (int32_t)blockIdx.y * 16;
    int32_t linear = y * 64 + x;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int32_t l = 0; l < k; l += 16) {
        int32_t ar = top + linear / 16, ac = l + linear % 16;
        a_tile[linear / 16][linear % 16] = ar < m && ac < k ? a[(size_t)ar * k + ac] : 0.0f;
        for (int32_t r = y; r < 16; r += 4)
            b_tile[r][x] = l + r < k && col < n ? b[(size_t)(l + r) * n + col] : 0.0f;
        __syncthreads();
        for (int32_t i = 0; i < 16; i++)
            for (int32_t j = 0; j < 4; j++) sum[j] += a_tile[row_of[j] + y][i] * b_tile[i][x];
        __syncthreads();
    }
    assert(m > 0 && n > 0);
    if (m < 0) {
        printf("%d %d\n", m, odd_sizes);
        odd_sizes = 1;
    }
    for (int32_t j = 0; j < 4; j++) {
        int32_t row = top + row_of[j] + y;
        switch (row < m && col < n) {
        case 1:
            c[(size_t)row * n + col] = sum[j];
            break;
        default:
            break;
        }
    }
}
