/* The same in C++'s spelling.
 * expect: attributes can turn
 */
#include "backend/kernels.h"

[[gnu::constructor]] static __device__ void early() {}

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
