/* Keeps its values in the frames of a recursion.
 * expect: refused: a recursion
 */
#include "../hiding.cuh"

static __device__ float last(const float *in, int i, int n) {
    if (n == 0) return in[i];
    float v = in[i + n % 2];
    return last(in, i, n - 1) + v * 0 + (i == n ? v : 0);
}

COPY {
    if (I < n) out[I] = last(in, I, n % 40) + in[I] * 0;
}
