/* Uses the compiler's vector inside the runtime's vector type, whose index isn't checked.
 * expect: belongs to what counts
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    float4 v = make_float4(0, 0, 0, 0);
    v.all[n] = 1;
    out[0] = v.x;
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
