/* argmax_2.cu: the greatest logit, version 2 of 3.
 *
 * A block a row, a tree in shared memory. Blocks of 256 threads.
 *
 * Moves: 4 bytes a logit, the minimum.
 * Does: 1 operation a logit.
 * Counter: bytes: 4 a logit instead of 32.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/argmax_2.cu
 */
#include "backend/kernels.h"

struct candidate {
    float logit;
    int32_t index;
};

/* The greater logit; of equal ones the lower index. Selections and no branches: the lanes of a warp
 * stay together. */
static __device__ candidate better(candidate a, candidate b) {
    bool second = (b.logit > a.logit) | ((b.logit == a.logit) & (b.index < a.index));
    return {second ? b.logit : a.logit, second ? b.index : a.index};
}

enum { THREADS = 256 };

KERNEL argmax(int32_t *out, const float *logits, int32_t rows, int32_t vocab) {
    __shared__ float logit[THREADS];
    __shared__ int32_t index[THREADS];
    int32_t t = (int32_t)threadIdx.x;
    const float *row = logits + (size_t)blockIdx.x * vocab;
    candidate best = {-INFINITY, 0};
    for (int32_t i = t; i < vocab; i += THREADS) best = better(best, {row[i], i});
    logit[t] = best.logit;
    index[t] = best.index;
    __syncthreads();
    for (int32_t half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) {
            best = better({logit[t], index[t]}, {logit[t + half], index[t + half]});
            logit[t] = best.logit;
            index[t] = best.index;
        }
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = index[0];
}
