/* A second name of a function.
 * expect: refused: one name and one body
 */
#include "../hiding.cuh"

extern "C" void carry(float *to, const float *from) { *to = *from; }
extern "C" void other(float *, const float *) __attribute__((alias("carry")));
COPY {
    if (I < n) other(out + I, in + I);
}
