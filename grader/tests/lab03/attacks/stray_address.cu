/* Writes to an arbitrary address.
 * expect: out-of-bounds|host-pointer
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    if (threadIdx.x == 0) *(volatile float *)(size_t)0x10000000 = 1;
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
