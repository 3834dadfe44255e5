/* embedding_1.cu: embedding, version 1 of 3.
 *
 * A thread a token.
 *
 * Moves: about 60 tokens d bytes; the minimum is 6.
 * Does: nothing.
 * Counter: 32 sectors a request.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/embedding_1.cu
 */
#include "backend/kernels.h"

KERNEL embedding(float *out, const bf16 *table, const int32_t *id, int32_t tokens, int32_t d) {
    int32_t t = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (t >= tokens) return;
    for (int32_t i = 0; i < d; i++)
        out[(size_t)t * d + i] = __bfloat162float(table[(size_t)id[t] * d + i]);
}
