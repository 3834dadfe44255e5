/* A vector of four whose alignment is one byte: a GPU moves it byte by byte.
 * expect: meets version 1
 * points: 1
 */
#include "backend/kernels.h"

typedef float four __CONCAT(__attri, bute__)((vector_size(16), aligned(1)));
KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i + 4 <= n)
        *(four *)(out + i) = *(const four *)(in + i);
    else
        for (; i < n; i++) out[i] = in[i];
}
