/* Writes over its own stack, which the memory hooks don't see.
 * expect: index past the end of an array
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    float local[4] = {0, 1, 2, 3};
    local[n * 1000 + 17] = in[0];
    out[0] = local[n % 4];
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
