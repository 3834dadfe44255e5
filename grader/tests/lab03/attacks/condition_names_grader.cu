/* Asks where it is graded.
 * expect: the same on a GPU and here
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    if (__SIMT__) return;
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
