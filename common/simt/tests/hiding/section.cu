/* A function in a section of its own.
 * expect: counted
 */
#include "../hiding.cuh"

static __attribute__((section("elsewhere"), noinline)) void carry(float *to, const float *from) { *to = *from; }
COPY {
    if (I < n) carry(out + I, in + I);
}
