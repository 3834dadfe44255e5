/* A function of the host behind a macro.
 * expect: a value or an expression
 */
#include "backend/kernels.h"

#define HIDE static float helper(float x) { return x; }
HIDE

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
