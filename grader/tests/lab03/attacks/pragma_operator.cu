/* A pragma in another spelling.
 * expect: on a separate line
 */
#include "backend/kernels.h"

_Pragma("GCC push_options")

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
