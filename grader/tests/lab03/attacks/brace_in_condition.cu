/* Braces that only the reader of the text sees, so that file level looks like a body.
 * expect: the same everywhere
 */
#include "backend/kernels.h"

static __device__ void f() {
#if 0
{
#endif
}
static int32_t x = f();

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
