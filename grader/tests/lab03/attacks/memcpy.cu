/* Moves memory past the counts.
 * expect: isn't counted
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    if (blockIdx.x == 0 && threadIdx.x == 0) memcpy(out, in, 4 * (size_t)n);
}
