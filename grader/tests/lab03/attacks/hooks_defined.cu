/* Defines the hooks that count.
 * expect: only `extern __shared__`
 */
#include "backend/kernels.h"

extern "C" __device__ void __tsan_read4(void *p) {}

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
