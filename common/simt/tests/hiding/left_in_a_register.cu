/* A value that nobody computed, in the hope of what an earlier thread left in the register.
 * expect: wrong
 */
#include "../hiding.cuh"

COPY {
    float v;
    if (threadIdx.x % 2 == 0 && I < n) v = in[I];
    if (I < n) out[I] = fmaf(v, 1.0f, 0.0f);
}
