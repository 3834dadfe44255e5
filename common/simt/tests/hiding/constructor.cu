/* Code that runs before a kernel.
 * expect: counted
 */
#include "../hiding.cuh"

static __device__ int early;
__attribute__((constructor)) static void before() { early = 1; }
COPY {
    if (I < n) out[I] = in[I];
}
