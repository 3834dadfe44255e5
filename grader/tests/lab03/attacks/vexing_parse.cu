/* A variable that looks like a prototype.
 * expect: written out where it is declared
 */
#include "backend/kernels.h"

static __device__ int32_t now() {
    return 1;
}
__device__ int32_t early(now());

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
