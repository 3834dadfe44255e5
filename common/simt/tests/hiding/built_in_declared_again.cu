/* Writes to threadIdx under a declaration of one's own.
 * expect: refused: inline PTX
 */
#include "../hiding.cuh"

extern unsigned mine[64] __asm__("threadIdx");
COPY {
    if (I < n) out[I] = in[I];
    mine[0] = 0;
}
