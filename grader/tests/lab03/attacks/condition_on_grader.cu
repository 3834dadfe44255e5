/* Does something else where it is graded.
 * expect: the same everywhere
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
#ifdef HIDDEN
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
#endif
}
