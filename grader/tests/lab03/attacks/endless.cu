/* A loop without an end.
 * expect: came to no end
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    volatile int32_t i = 1;
    while (i) i = 1 + i % 7;
    int32_t k = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (k < n) out[k] = in[k];
}
