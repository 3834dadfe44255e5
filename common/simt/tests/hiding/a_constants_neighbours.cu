/* Goes from a table of constants to what lies behind it.
 * expect: found: out-of-bounds
 */
#include "../hiding.cuh"

static const float table[4] = {1, 2, 3, 5};
static __device__ volatile int far;
COPY {
    far = (n & 3) + (1 << 20);
    if (I < n) out[I] = in[I] + table[far] * 0.0f;
}
