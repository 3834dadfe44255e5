/* Keeps the first answer and gives it again.
 * expect: out
 */
#include "backend/kernels.h"

static __device__ float first;
static __device__ int32_t seen;

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    if (i == 0 && !seen) first = in[0], seen = 1;
    out[i] = i == 0 ? first : in[i];
}
