/* copy.cu: copies n values. Defined in backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin copy.cu
 */
#include "backend/kernels.h"

// BEGIN SOLUTION
/* Four values a thread in one access of 16 bytes: a quarter of the instructions for the same bytes.
 *
 * Moves: 8 n bytes, the minimum.
 * Does: nothing.
 * Counter: requests: 2 for every 128 values instead of 2 for every 32.
 */
// END SOLUTION

KERNEL copy(float *out, const float *in, int32_t n) {
    // BEGIN SOLUTION
    //| LAB_TODO_KERNEL("copy");
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x), fours = n / 4;
    if (i < fours)
        reinterpret_cast<float4 *>(out)[i] = reinterpret_cast<const float4 *>(in)[i];
    else if (i < fours + n % 4) /* up to three values are left: one a thread */
        out[n - n % 4 + i - fours] = in[n - n % 4 + i - fours];
    // END SOLUTION
}
