/* A function in two versions, chosen as the program starts.
 * expect: refused: one name and one body|refused: target_clones
 */
#include "../hiding.cuh"

static __attribute__((target_clones("avx2", "default"), noinline)) void carry(float *to, const float *from) { *to = *from; }
COPY {
    if (I < n) carry(out + I, in + I);
}
