/* Moves memory past the counts, through the library.
 * expect: of the C++ library
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    if (blockIdx.x == 0 && threadIdx.x == 0) std::copy(in, in + n, out);
}
