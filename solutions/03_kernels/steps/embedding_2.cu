/* embedding_2.cu: embedding, version 2 of 3.
 *
 * A thread a value, counted over all tokens. A request of 2-byte loads moves only half of
 * what it could.
 *
 * Moves: 6 tokens d bytes, and each warp its token's id.
 * Does: nothing.
 * Counter: bytes: 7 tokens d instead of 64.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/embedding_2.cu
 */
#include "backend/kernels.h"

KERNEL embedding(float *out, const bf16 *table, const int32_t *id, int32_t tokens, int32_t d) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= tokens * d) return;
    out[i] = __bfloat162float(table[(size_t)id[i / d] * d + i % d]);
}
