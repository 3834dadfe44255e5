/* A function that claims to touch no memory.
 * expect: counted|wrong
 */
#include "../hiding.cuh"

static __attribute__((const, noinline)) __device__ float carry(float *to, const float *from) { return *to = *from; }
COPY {
    if (I < n) out[I] = carry(out + I, in + I);
}
