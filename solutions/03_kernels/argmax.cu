/* argmax.cu: the greatest logit of each row. Defined in backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin argmax.cu
 */
#include "backend/kernels.h"

// BEGIN SOLUTION
/* Four logits to an access; warps join their candidates by shuffles. A block a row, blocks of 256
 * threads.
 *
 * Moves: 4 bytes a logit, the minimum.
 * Does: 1 operation a logit.
 * Counter: requests: 1 for 128 logits instead of 1 for 32; barriers: 1 a row instead of 9.
 */

enum { THREADS = 256, WARPS = THREADS / 32 };

typedef unsigned long long candidate;

/* A logit and its index as one number: the greater logit is the greater number, and of equal ones
 * the lower index. (+ 0 makes -0 the same as 0; a negative float's bits are inverted.) So a
 * maximum is enough, and the lanes of a warp don't diverge. */
static __device__ candidate candidate_of(float logit, int32_t index) {
    unsigned bits = __float_as_uint(logit + 0.0f);
    bits ^= (unsigned)((int32_t)bits >> 31) | 0x80000000u;
    return (candidate)bits << 32 | (unsigned)~index;
}
// END SOLUTION

KERNEL argmax(int32_t *out, const float *logits, int32_t rows, int32_t vocab) {
    // BEGIN SOLUTION
    //| LAB_TODO_KERNEL("argmax");
    __shared__ candidate of_warp[WARPS];
    int32_t t = (int32_t)threadIdx.x;
    const float4 *row = reinterpret_cast<const float4 *>(logits + (size_t)blockIdx.x * vocab);
    candidate best = 0;
    for (int32_t i = t; i < vocab / 4; i += THREADS) {
        float4 v = row[i];
        candidate xy = max(candidate_of(v.x, 4 * i), candidate_of(v.y, 4 * i + 1));
        candidate zw = max(candidate_of(v.z, 4 * i + 2), candidate_of(v.w, 4 * i + 3));
        best = max(best, max(xy, zw));
    }
    for (int32_t offset = 16; offset > 0; offset /= 2)
        best = max(best, __shfl_xor_sync(~0u, best, offset));
    if (t % 32 == 0) of_warp[t / 32] = best;
    __syncthreads();
    if (t > 0) return;
    for (int32_t w = 1; w < WARPS; w++) best = max(best, of_warp[w]);
    out[blockIdx.x] = (int32_t) ~(unsigned)best;
    // END SOLUTION
}
