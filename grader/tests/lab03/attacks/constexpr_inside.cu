/* An initialiser with code that holds the word constexpr.
 * expect: has to be computed|has a plain type
 */
#include "backend/kernels.h"

static __device__ int32_t g() {
    return 1;
}
static int32_t y = [] { constexpr int32_t z = 1; return z + g(); }();

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
