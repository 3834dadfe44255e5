/* softmax_2.cu: softmax of rows, version 2 of 4.
 *
 * A block a row, coalesced; a tree in shared memory for the maximum and another for the sum. Blocks
 * of 256 threads.
 *
 * Moves: 16 rows d bytes: the row is read three times.
 * Does: 5 rows d operations.
 * Counter: bytes: 16 rows d instead of 128.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/softmax_2.cu
 */
#include "backend/kernels.h"

enum { THREADS = 256 };

KERNEL softmax(float *out, const float *x, int32_t rows, int32_t d) {
    __shared__ float part[THREADS];
    int32_t t = (int32_t)threadIdx.x;
    const float *row = x + (size_t)blockIdx.x * d;
    float v = -INFINITY;
    for (int32_t i = t; i < d; i += THREADS) v = fmaxf(v, row[i]);
    part[t] = v;
    __syncthreads();
    for (int32_t half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) part[t] = fmaxf(part[t], part[t + half]);
        __syncthreads();
    }
    float greatest = part[0];
    v = 0;
    for (int32_t i = t; i < d; i += THREADS) v += expf(row[i] - greatest);
    __syncthreads(); /* every thread has read part[0] */
    part[t] = v;
    __syncthreads();
    for (int32_t half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    float scale = 1 / part[0];
    for (int32_t i = t; i < d; i += THREADS)
        out[(size_t)blockIdx.x * d + i] = expf(row[i] - greatest) * scale;
}
