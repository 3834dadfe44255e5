/* A function whose body is assembly.
 * expect: refused: inline PTX
 */
#include "../hiding.cuh"

static __attribute__((naked, noinline)) void carry(float *, const float *) {
    __asm__("movss (%rsi), %xmm0\nmovss %xmm0, (%rdi)\nret");
}
COPY {
    if (I < n) carry(out + I, in + I);
}
