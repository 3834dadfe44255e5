/* A variable that fits into the object, but not into the program linked from it.
 * expect: more than 16 MiB
 */
#include "backend/kernels.h"

static __device__ int32_t large[8350000] = {1};
KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    if (n == -7) large[i] = 1;
    out[i] = in[i];
}
