/* A structure returned into memory.
 * expect: counted
 */
#include "../hiding.cuh"

struct part { float x[32]; };
static __device__ __noinline__ part load(const float *from) { return *(const part *)from; }
COPY {
    int at = I * 32;
    if (at + 32 <= n) *(part *)(out + at) = load(in + at);
    if (I == 0)
        for (at = n / 32 * 32; at < n; at++) out[at] = in[at];
}
