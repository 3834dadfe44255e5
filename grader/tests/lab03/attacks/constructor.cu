/* Runs before the grader's main.
 * expect: attributes can turn
 */
#include "backend/kernels.h"

__attribute__((constructor)) static void early(void) {}

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
