/* copy_1.cu: copy, version 1 of 3.
 *
 * Each thread copies 16 neighbours, as a CPU thread would. A warp's 32 loads then lie 64 bytes
 * apart, and each of them brings a sector of 32 bytes of which it uses 4.
 *
 * Moves: 64 n bytes; the minimum is 8 n.
 * Does: nothing.
 * Counter: 32 sectors a request; the minimum is 4.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/copy_1.cu
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t first = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x) * 16;
    for (int32_t i = first; i < first + 16; i++)
        if (i < n) out[i] = in[i];
}
