/* Loads by inline assembly.
 * expect: refused: inline PTX
 */
#include "../hiding.cuh"

COPY {
    float v = 0;
    if (I < n) {
        __asm__ volatile("movss (%1), %0" : "=x"(v) : "r"(in + I) : "memory");
        out[I] = v;
    }
}
