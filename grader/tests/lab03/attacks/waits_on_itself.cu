/* A grid that waits on itself.
 * expect: Blocks run in no order
 */
#include "backend/kernels.h"

static __device__ int32_t arrived;

KERNEL copy(float *out, const float *in, int32_t n) {
    if (blockIdx.x == 0)
        while (atomicAdd(&arrived, 0) + 1 < (int32_t)gridDim.x) {}
    else if (threadIdx.x == 0)
        atomicAdd(&arrived, 1);
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
