/* Dies of a signal.
 * expect: divides an integer by zero|ended by SIGFPE
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    if (threadIdx.x == 0) out[0] = (float)(n / (int32_t)threadIdx.y);
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
