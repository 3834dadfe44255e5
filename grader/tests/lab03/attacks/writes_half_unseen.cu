/* Without clang: a pasted name hides every second store, and enough is read twice for the sum.
 * hooks: compiler
 * expect: changed that was never counted as written
 * points: 1
 */
#include "backend/kernels.h"
#define JOINED(a, b) __CONCAT(a, b)

static JOINED(SI, MT_UNSEEN) __device__ void put(float *to, float v) {
    *to = v;
}
KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    float seen = in[i / 2] + in[i / 3] + in[i / 4];
    if (i % 2)
        put(&out[i], in[i] + seen * 0.0f);
    else
        out[i] = in[i];
}
