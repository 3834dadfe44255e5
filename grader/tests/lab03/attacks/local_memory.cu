/* More local variables than a thread has registers: they lie in memory, and count.
 * expect: meets version 1
 * points: 1
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    float keep[512];
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    for (int32_t k = 0; k < n % 500 + 2; k++) keep[k] = in[i];
    out[i] = keep[n % 500];
}
