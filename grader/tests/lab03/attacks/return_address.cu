/* Looks for addresses of the program.
 * expect: compiler's own function
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    if (!__builtin_return_address(0)) out[0] = 1;
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
