/* Ends the process before the answer is complete.
 * expect: isn't a device function
 */
#include "backend/kernels.h"
#include <math.h>

KERNEL copy(float *out, const float *in, int32_t n) {
    if (n > 0) exit(0);
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
