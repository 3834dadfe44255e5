/* Eight bytes at once of a type that has no alignment: a GPU moves them one by one.
 * expect: meets version 1
 * points: 1
 */
#include "backend/kernels.h"

struct part {
    unsigned char b[8];
};
KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x) * 2;
    if (i + 2 <= n)
        *(part *)(out + i) = *(const part *)(in + i);
    else if (i < n)
        out[i] = in[i];
}
