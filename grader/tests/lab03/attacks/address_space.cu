/* Reads through a segment register: the access goes elsewhere than the pointer says.
 * expect: an address space
 */
#include "backend/kernels.h"

typedef float segment __CONCAT(__attri, bute__)((address_space(256)));
KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    out[i] = *(segment *)(long)&in[i];
}
