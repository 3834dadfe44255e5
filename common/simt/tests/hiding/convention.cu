/* A function with a calling convention of its own.
 * expect: refused: calling convention
 */
#include "../hiding.cuh"

static __attribute__((preserve_most, noinline)) __device__ void carry(float *to, const float *from) { *to = *from; }
COPY {
    if (I < n) carry(out + I, in + I);
}
