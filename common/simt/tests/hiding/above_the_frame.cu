/* Walks up to where return addresses lie.
 * expect: found: out-of-bounds
 */
#include "../hiding.cuh"

static __device__ volatile uintptr_t where;
COPY {
    volatile uintptr_t here = 0;
    where = (uintptr_t)&here;
    volatile uintptr_t *up = (volatile uintptr_t *)where;
    if (I == 0)
        for (int k = 1; k < 64; k++) up[k] = up[k];
    if (I < n) out[I] = in[I];
}
