/* Opens a file.
 * expect: isn't a device function
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    void *f = (void *)fopen("/etc/passwd", "r");
    if (f) out[0] = 1;
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
