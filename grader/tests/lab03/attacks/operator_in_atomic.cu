/* Moves data in the operator that atomicAdd uses.
 * expect: an atomic changes a number
 */
#include "backend/kernels.h"

struct task {
    float *to;
    const float *from;
    int32_t i, n;
};
__device__ __forceinline__ task operator+(const task &none, const task &t) {
    if (t.i < t.n) t.to[t.i] = t.from[t.i];
    return none;
}
KERNEL copy(float *out, const float *in, int32_t n) {
    task none = {out, in, n, n}, mine = {out, in, (int32_t)(blockIdx.x * blockDim.x + threadIdx.x), n};
    atomicAdd(&none, mine);
}
