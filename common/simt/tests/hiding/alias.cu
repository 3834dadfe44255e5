/* A second name of a function.
 * expect: counted
 */
#include "../hiding.cuh"

extern "C" __attribute__((noinline)) void carry(float *to, const float *from) { *to = *from; }
extern "C" void other(float *, const float *) __attribute__((alias("carry")));
COPY {
    if (I < n) other(out + I, in + I);
}
