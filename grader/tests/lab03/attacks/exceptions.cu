/* Leaves by an exception.
 * expect: no exceptions
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    if (n < 0) throw 1;
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
