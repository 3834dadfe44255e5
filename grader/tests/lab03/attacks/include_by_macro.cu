/* An include that a macro names.
 * expect: a kernel includes
 */
#include "backend/kernels.h"

#define WHERE "/etc/passwd"
#include WHERE

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
