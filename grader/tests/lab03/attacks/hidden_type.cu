/* The same behind a plain type's name.
 * expect: name is taken
 */
#include "backend/kernels.h"

namespace inner {
struct float4 {
    int32_t x;
    __device__ float4() : x(1) {}
};
static float4 e;
} // namespace inner

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
