/* Calls a function through a pointer.
 * expect: a call through a pointer
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    typedef void (*hidden)(int32_t);
    hidden f = (hidden)(uintptr_t)(size_t)n;
    if (n < 0) f(0);
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
