/* The stack below the frame keeps values from block to block.
 * expect: found: out-of-bounds
 */
#include "../hiding.cuh"

struct kept {
    const float *of;
    float v;
};
COPY {
    volatile float anchor = 0;
    kept *k = (kept *)(((uintptr_t)&anchor - 40000) & ~(uintptr_t)63);
    if (k->of != in + threadIdx.x) k->of = in + threadIdx.x, k->v = in[threadIdx.x];
    if (I < n) out[I] = I < 128 ? k->v : in[I];
}
