/* A bracket that only the compiler sees.
 * expect: close within it
 */
#include "backend/kernels.h"

#define CLOSE )
static __device__ int32_t g(int32_t x CLOSE { return x; }
static int32_t y = g(1);

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
