/* Doesn't compile; the first error has the learner's line.
 * expect: copy.cu:7:
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    float x = undeclared;
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
