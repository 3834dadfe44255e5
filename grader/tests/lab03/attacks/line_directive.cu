/* Hides the line of the code.
 * expect: isn't needed in a kernel
 */
#line 1 "another.cu"
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
