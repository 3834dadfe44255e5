/* Writes to threadIdx through its address.
 * expect: found: out-of-bounds
 */
#include "../hiding.cuh"

static __device__ volatile uintptr_t where;
COPY {
    where = (uintptr_t)&threadIdx;
    *(unsigned *)where = 0;
    if (I < n) out[I] = in[I];
}
