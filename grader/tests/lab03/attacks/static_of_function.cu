/* A value that the first thread would leave to the others.
 * expect: starts with a constant
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    static int32_t size = n;
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < size) out[i] = in[i];
}
