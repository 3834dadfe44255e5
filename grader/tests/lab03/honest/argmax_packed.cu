/* An honest variant: index and value in one 64-bit number, a typedef, union, static member, atomics
 * on shared memory, no shuffles.
 */
#include "backend/kernels.h"

typedef unsigned long long key;

union bits {
    float f;
    unsigned u;
};

struct order {
    static constexpr unsigned SIGN = 0x80000000u;
    static __device__ __forceinline__ key pack(float value, int32_t index) {
        bits b;
        b.f = value + 0.0f;
        unsigned u = b.u ^ ((unsigned)((int)b.u >> 31) | SIGN); /* no branch: lanes stay together */
        return (key)u << 32 | (unsigned)(0x7fffffff - index);
    }
};

KERNEL argmax(int32_t *out, const float *logits, int32_t rows, int32_t vocab) {
    __shared__ key best;
    const float *row = logits + (size_t)blockIdx.x * vocab;
    key mine = 0;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    for (int32_t i = (int32_t)threadIdx.x; i < vocab; i += (int32_t)blockDim.x)
        mine = max(mine, order::pack(row[i], i));
    atomicMax(&best, mine);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = 0x7fffffff - (int32_t)(best & 0xffffffffu);
}
