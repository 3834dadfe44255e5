/* Keeps the address of a local variable of a function that has returned.
 * expect: found: out-of-bounds
 */
#include "../hiding.cuh"

static __device__ float *slot;
static __device__ __noinline__ void leave(float v) {
    float kept[4];
    slot = kept;
    kept[threadIdx.x & 3] = v;
    if (slot == nullptr) slot[0] = kept[1];
}
COPY {
    if (I >= n) return;
    leave(in[I]);
    out[I] = slot[threadIdx.x & 3];
}
