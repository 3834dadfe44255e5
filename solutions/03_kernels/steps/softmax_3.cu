/* softmax_3.cu: softmax of rows, version 3 of 4.
 *
 * Online: one pass finds maximum and sum together, correcting the sum when the maximum grows.
 * Blocks of 256 threads.
 *
 * Moves: 12 rows d bytes: the row is read twice.
 * Does: 5 rows d operations, and a correction where a maximum grows.
 * Counter: bytes: 12 rows d instead of 16.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/softmax_3.cu
 */
#include "backend/kernels.h"

#include <float.h>

enum { THREADS = 256 };

/* A maximum, and the sum of exp(x - maximum) so far. Two of them join to the pair of both parts; a
 * part without values has the sum 0. (Milakov and Gimelshein, 2018.) */
struct part {
    float greatest, sum;
};

static __device__ part join(part a, part b) {
    float greatest = fmaxf(a.greatest, b.greatest);
    return {greatest, a.sum * expf(a.greatest - greatest) + b.sum * expf(b.greatest - greatest)};
}

KERNEL softmax(float *out, const float *x, int32_t rows, int32_t d) {
    __shared__ part joined[THREADS];
    int32_t t = (int32_t)threadIdx.x;
    const float *row = x + (size_t)blockIdx.x * d;
    part mine = {-FLT_MAX, 0};
    for (int32_t i = t; i < d; i += THREADS) mine = join(mine, {row[i], 1});
    joined[t] = mine;
    __syncthreads();
    for (int32_t half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) joined[t] = join(joined[t], joined[t + half]);
        __syncthreads();
    }
    float greatest = joined[0].greatest, scale = 1 / joined[0].sum;
    for (int32_t i = t; i < d; i += THREADS)
        out[(size_t)blockIdx.x * d + i] = expf(row[i] - greatest) * scale;
}
