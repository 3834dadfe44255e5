/* A function in two versions, chosen as the program starts.
 * expect: refused: in several versions|refused: target_clones|refused: multiversion
 */
#include "../hiding.cuh"

static __attribute__((target_clones("avx2", "default")))) void carry(float *to, const float *from) { *to = *from; }
COPY {
    if (I < n) carry(out + I, in + I);
}
