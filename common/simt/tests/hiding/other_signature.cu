/* Calls a function as if it had other parameters.
 * expect: refused: a call through a pointer
 */
#include "../hiding.cuh"

static __device__ __noinline__ void carry(float *to, const float *from, long where) { to[where] = from[where]; }
COPY {
    if (I < n) ((void (*)(float *, const float *, float, long))(void *)carry)(out, in, 0.f, I);
}
