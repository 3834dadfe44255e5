/* A variable of 3 GB, which no program can have.
 * expect: more than 16 MiB
 */
#include "backend/kernels.h"

static int32_t huge[800000000];
KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    if (n == -7) huge[i] = i + n;
    out[i] = in[i] + (n == -7 ? (float)huge[i + 1] : 0.0f);
}
