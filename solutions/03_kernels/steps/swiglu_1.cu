/* swiglu_1.cu: SwiGLU's gate, version 1 of 3.
 *
 * A thread a row.
 *
 * Moves: 96 rows d bytes; the minimum is 12.
 * Does: 4 rows d operations.
 * Counter: 32 sectors a request.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/swiglu_1.cu
 */
#include "backend/kernels.h"

KERNEL swiglu(float *out, const float *gate_up, int32_t rows, int32_t d) {
    int32_t r = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (r >= rows) return;
    const float *gate = gate_up + (size_t)r * 2 * d, *up = gate + d;
    for (int32_t i = 0; i < d; i++) out[(size_t)r * d + i] = gate[i] / (1 + expf(-gate[i])) * up[i];
}
