/* A call through a table of functions.
 * expect: through a table
 */
#include "backend/kernels.h"

struct base {
    virtual __device__ void f() {}
};

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
