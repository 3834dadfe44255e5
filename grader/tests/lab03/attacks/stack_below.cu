/* The stack below its frame keeps values from block to block.
 * expect: out-of-bounds
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    volatile float anchor = 0;
    float *kept = (float *)(((uintptr_t)&anchor - 32768) & ~(uintptr_t)63);
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i == 0) kept[0] = in[0];
    if (i < n) out[i] = i == 0 ? kept[0] : in[i];
}
