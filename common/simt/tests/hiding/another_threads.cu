/* Reads a local variable of another thread.
 * expect: found: out-of-bounds
 */
#include "../hiding.cuh"

static __device__ float *slot;
COPY {
    float kept[4];
    kept[I & 3] = I < n ? in[I] : 0;
    if (threadIdx.x == 0) slot = kept;
    __syncthreads();
    if (I < n) out[I] = threadIdx.x == 5 ? slot[0] : in[I];
}
