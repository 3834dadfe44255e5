/* Writes to the built-in variables.
 * expect: out|host-pointer|out-of-bounds|read-only|ended by
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    *(volatile unsigned *)&gridDim.x = 1;
    *(volatile unsigned *)&blockIdx.x = 1000;
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
