/* A function in assembly.
 * expect: refused: inline PTX
 */
#include "../hiding.cuh"

__asm__(".globl carry\ncarry: ret");
COPY {
    if (I < n) out[I] = in[I];
}
