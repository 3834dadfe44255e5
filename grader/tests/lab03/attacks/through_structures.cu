/* Whole structures are counted word by word: right, and version 1.
 * expect: meets version 1
 * points: 1
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    struct part { float x[16]; };
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i * 16 + 16 <= n) reinterpret_cast<part *>(out)[i] = reinterpret_cast<const part *>(in)[i];
    else for (int32_t k = i * 16; k < n; k++) out[k] = in[k];
}
