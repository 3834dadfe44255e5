/* A function that says it never returns.
 * expect: found: crash|wrong
 */
#include "../hiding.cuh"

static __attribute__((noreturn, noinline)) __device__ void carry(float *to, const float *from) { *to = *from; }
COPY {
    if (I < n) carry(out + I, in + I);
}
