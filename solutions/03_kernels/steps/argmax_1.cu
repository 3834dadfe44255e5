/* argmax_1.cu: the greatest logit, version 1 of 3.
 *
 * A thread a row.
 *
 * Moves: 32 bytes a logit; the minimum is 4.
 * Does: 1 operation a logit.
 * Counter: a sector for every logit.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/argmax_1.cu
 */
#include "backend/kernels.h"

KERNEL argmax(int32_t *out, const float *logits, int32_t rows, int32_t vocab) {
    int32_t r = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (r >= rows) return;
    const float *row = logits + (size_t)r * vocab;
    int32_t best = 0;
    for (int32_t i = 1; i < vocab; i++)
        if (row[i] > row[best]) best = i;
    out[r] = best;
}
