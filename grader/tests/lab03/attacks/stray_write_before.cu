/* Writes before its array.
 * expect: out-of-bounds|host-pointer
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
    if (i == 0) out[-300] = 1;
}
