/* gemm.cu: matrix product in float. Defined in backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin gemm.cu
 */
#include "backend/kernels.h"

// BEGIN SOLUTION
/* A block computes 64 by 64 results, a thread 4 by 4 of them in registers: two float4 from shared
 * memory feed 16 multiply-adds. A's tile is kept transposed, for that float4; its rows are padded
 * to 68 words, which leaves its stores two lanes a bank. Blocks of 256 threads.
 *
 * Moves: 4 bytes for every 64 operations.
 * Does: 2 m n k operations.
 * Counter: wavefronts: 1120 for 64 by 64 by 16 steps instead of 4224.
 */

enum { TILE = 64, DEPTH = 16, PADDED = TILE + 4 };

static __device__ float4 load4_or_zero(const float *p, bool there) {
    return there ? *reinterpret_cast<const float4 *>(p) : make_float4(0, 0, 0, 0);
}

/* row += a * b, one row of the thread's 4 by 4. */
static __device__ void add_times(float4 &row, float a, float4 b) {
    row.x += a * b.x;
    row.y += a * b.y;
    row.z += a * b.z;
    row.w += a * b.w;
}
// END SOLUTION

KERNEL gemm(float *c, const float *a, const float *b, int32_t m, int32_t n, int32_t k) {
    // BEGIN SOLUTION
    //| LAB_TODO_KERNEL("gemm");
    __shared__ float4 a_tile[DEPTH][PADDED / 4]; /* [l][row] */
    __shared__ float4 b_tile[DEPTH][TILE / 4];   /* [l][col] */
    int32_t t = (int32_t)threadIdx.x, tx = t % 16, ty = t / 16;
    int32_t row0 = (int32_t)blockIdx.y * TILE, col0 = (int32_t)blockIdx.x * TILE;
    int32_t a_row = t / 4, a_l = t % 4 * 4; /* the place that this thread loads */
    int32_t b_l = t / 16, b_col = t % 16 * 4;
    float *a_words = reinterpret_cast<float *>(a_tile);
    float4 sum[4] = {make_float4(0, 0, 0, 0), make_float4(0, 0, 0, 0), make_float4(0, 0, 0, 0),
                     make_float4(0, 0, 0, 0)};
    for (int32_t l = 0; l < k; l += DEPTH) {
        float4 v = load4_or_zero(a + (size_t)(row0 + a_row) * k + l + a_l,
                                 row0 + a_row < m && l + a_l < k);
        a_words[(a_l + 0) * PADDED + a_row] = v.x;
        a_words[(a_l + 1) * PADDED + a_row] = v.y;
        a_words[(a_l + 2) * PADDED + a_row] = v.z;
        a_words[(a_l + 3) * PADDED + a_row] = v.w;
        b_tile[b_l][b_col / 4] = load4_or_zero(b + (size_t)(l + b_l) * n + col0 + b_col,
                                               l + b_l < k && col0 + b_col < n);
        __syncthreads();
#pragma unroll
        for (int32_t i = 0; i < DEPTH; i++) {
            float4 of_a = a_tile[i][ty], of_b = b_tile[i][tx];
            add_times(sum[0], of_a.x, of_b);
            add_times(sum[1], of_a.y, of_b);
            add_times(sum[2], of_a.z, of_b);
            add_times(sum[3], of_a.w, of_b);
        }
        __syncthreads();
    }
    if (col0 + tx * 4 >= n) return;
#pragma unroll
    for (int32_t i = 0; i < 4; i++) {
        int32_t row = row0 + ty * 4 + i;
        if (row < m) *reinterpret_cast<float4 *>(c + (size_t)row * n + col0 + tx * 4) = sum[i];
    }
    // END SOLUTION
}
