/* A memset of its own, which would leave what earlier threads left in local variables.
 * expect: counted
 */
#include "../hiding.cuh"

extern "C" __attribute__((used, noinline)) void *memset(void *at, int, size_t) { return at; }
static __device__ volatile int zero;
COPY {
    volatile float kept[64];
    float *k = (float *)kept;
    if (k[zero + 3] != 0.25f) k[zero + 3] = 0.25f, k[zero + 4] = in[0];
    if (I < n) out[I] = I == 0 ? k[zero + 4] : in[I];
}
