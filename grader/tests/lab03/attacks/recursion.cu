/* Endless recursion.
 * expect: a recursion
 */
#include "backend/kernels.h"

static __device__ __noinline__ float deeper(int32_t n, float x) {
    float y[64];
    for (int32_t i = 0; i < 64; i++) y[i] = x + (float)i;
    return n < -5 ? y[n & 63] : deeper(n + 1, y[(n + 3) & 63]) + y[n & 31];
}

KERNEL copy(float *out, const float *in, int32_t n) {
    out[0] = deeper(n, in[0]);
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
