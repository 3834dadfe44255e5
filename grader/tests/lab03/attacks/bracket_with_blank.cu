/* An attribute whose brackets are apart.
 * expect: attributes can turn|meets version 2
 */
#include "backend/kernels.h"

[ [gnu::no_sanitize_thread] ] static __device__ __noinline__ void carry(float *to, const float *from) {
    *to = *from;
}
KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) carry(out + i, in + i);
}
