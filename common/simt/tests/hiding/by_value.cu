/* A structure passed by value from memory.
 * expect: counted
 */
#include "../hiding.cuh"

struct part { float x[32]; };
static __device__ __noinline__ float pick(part p, int i) { return p.x[i]; }
COPY {
    int from = I < n - 32 ? I : n - 32;
    if (I < n) out[I] = pick(*(const part *)(in + from), I - from);
}
