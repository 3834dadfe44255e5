/* printf stores through a pointer.
 * expect: printf here takes
 */
#include "backend/kernels.h"

static __device__ int32_t mark;
KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    if (i == 0) printf("12345%n", &mark);
    out[i] = in[i] + (mark == 5 ? 0.0f : 0.0f);
}
