/* Puts something into the library.
 * expect: of the C++ library
 */
#include "backend/kernels.h"

namespace std {
struct hidden {};
} // namespace std

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
