/* Passes 128 bytes of the input by value.
 * expect: meets version 1
 * points: 1
 */
#include "backend/kernels.h"

struct line {
    float x[32];
};
static __device__ __noinline__ float one_of(line l, int32_t k) {
    return l.x[k];
}
KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 32 <= n) out[i] = one_of(*(const line *)(in + i), 0);
    if (i < n && i + 32 > n) out[i] = in[i];
}
