/* The library's modf stores the output.
 * expect: meets version
 * points: 1
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    float v = in[i], whole = 0;
    sincosf(v, &out[i], &whole);
    out[i] = v;
}
