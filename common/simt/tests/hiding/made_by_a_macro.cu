/* Assembly that a system header's macro puts together.
 * expect: refused: inline PTX|refused: inline assembly
 */
#include "../hiding.cuh"

#include <sys/cdefs.h>
#define WORD __CONCAT(as, m)
COPY {
    float v = 0;
    if (I < n) {
        WORD volatile("movss (%1), %0" : "=x"(v) : "r"(in + I) : "memory");
        out[I] = v;
    }
}
