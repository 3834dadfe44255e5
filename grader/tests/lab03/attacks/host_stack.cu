/* Writes far from its stack.
 * expect: out-of-bounds|host-pointer
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    float x[2] = {0, 0};
    float *p = x;
    if (threadIdx.x == 0) p[n << 12] = in[0];
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
    if (n == 1) out[0] = x[0] + in[0];
}
