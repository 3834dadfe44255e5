/* Ends the process by an assertion.
 * expect: failed an assert|ended by SIGABRT
 */
#include "backend/kernels.h"

#include <assert.h>

KERNEL copy(float *out, const float *in, int32_t n) {
    assert(n < 0);
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
