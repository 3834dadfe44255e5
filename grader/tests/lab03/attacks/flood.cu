/* Prints without end.
 * expect: printed more than
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    for (int32_t k = 0; k < 1 << 20; k++) printf("%d %d\n", k, (int32_t)threadIdx.x);
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
