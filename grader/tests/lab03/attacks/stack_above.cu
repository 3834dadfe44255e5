/* Walks up its stack to the frames of the runtime.
 * expect: out-of-bounds
 */
#include "backend/kernels.h"

static __device__ volatile uintptr_t place;
KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    volatile uintptr_t anchor = 0;
    if (i == 0) {
        place = (uintptr_t)&anchor;
        volatile uintptr_t *up = (volatile uintptr_t *)place;
        for (int32_t k = 1; k < 64; k++)
            if (up[k] == (uintptr_t)&copy) up[k] += 1;
    }
    if (i < n) out[i] = in[i];
}
