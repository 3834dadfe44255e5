/* Atomics are counted as accesses: right, and version 1.
 * expect: meets version 1
 * points: 1
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t each = 16, from = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x) * each;
    for (int32_t i = from; i < n && i < from + each; i++) {
        out[i] = 0; /* no thread has written it, and an exchange reads it */
        atomicExch(&out[i], in[i]);
    }
}
