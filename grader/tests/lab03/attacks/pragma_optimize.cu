/* Changes how the file is compiled.
 * expect: of the pragmas only unroll
 */
#pragma GCC optimize("O0")
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
