/* Attributes that turn sanitizers off.
 * expect: counted
 */
#include "../hiding.cuh"

__attribute__((no_sanitize("thread", "coverage", "address"), disable_sanitizer_instrumentation, noinline))
static __device__ void carry(float *to, const float *from) {
    *to = *from;
}
COPY {
    if (I < n) carry(out + I, in + I);
}
