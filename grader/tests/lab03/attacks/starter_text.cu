/* Still holds the starter's mark.
 * expect: not written yet
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    LAB_TODO_KERNEL("copy");
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
