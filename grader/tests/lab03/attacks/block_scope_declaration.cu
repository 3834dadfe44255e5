/* A function of the C library, declared where it is called.
 * expect: isn't a device function
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    int puts(const char *);
    puts("score: 100");
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
