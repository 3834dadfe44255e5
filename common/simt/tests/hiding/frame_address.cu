/* Asks the compiler for the frame's address.
 * expect: refused: llvm.frameaddress
 */
#include "../hiding.cuh"

COPY {
    volatile uintptr_t *frame = (volatile uintptr_t *)__builtin_frame_address(0);
    if (I < n) out[I] = in[I];
    if (I == 0) frame[1] = frame[1];
}
