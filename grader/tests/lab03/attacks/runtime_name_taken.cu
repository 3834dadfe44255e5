/* The address of a function that the runtime doesn't have: the link would fail.
 * expect: can be called only
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    void __CONCAT(si, mt_nothing)(int);
    long a = (long)&__CONCAT(si, mt_nothing);
    out[i] = a == 77 ? 0 : in[i];
}
