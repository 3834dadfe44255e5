/* Without clang: half of what it reads passes by value, and enough is read twice for the sum.
 * hooks: compiler
 * expect: follows from data that was never counted as read
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
    if (i >= n) return;
    float seen = in[i / 2] + in[i / 3] + in[i / 4];
    out[i] = (i + 32 <= n ? one_of(*(const line *)(in + i), 0) : in[i]) + seen * 0.0f;
}
