/* Names the runtime, over two lines.
 * expect: belongs to what counts
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    simt\
_barrier(1, 0, 0);
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
