/* The word that turns the watching off, put together by a macro of a system header.
 * expect: meets version 2
 * points: 1
 */
#include "backend/kernels.h"

KERNEL __CONCAT(SI, MT_UNSEEN) copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
