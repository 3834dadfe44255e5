/* Calls through a pointer that only the run knows.
 * expect: refused: a call through a pointer
 */
#include "../hiding.cuh"

static __device__ __noinline__ void carry(float *to, const float *from) { *to = *from; }
static __device__ void (*volatile how)(float *, const float *) = carry;
COPY {
    if (I < n) how(out + I, in + I);
}
