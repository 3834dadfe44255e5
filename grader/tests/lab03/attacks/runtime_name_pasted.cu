/* Names the runtime, put together.
 * expect: put together by the preprocessor
 */
#include "backend/kernels.h"

#define JOIN(a, b) a##b

KERNEL copy(float *out, const float *in, int32_t n) {
    JOIN(sim, t_barrier)(1, 0, 0);
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
