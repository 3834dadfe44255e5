/* A matrix product that reads and writes in global memory.
 * expect: refused: isn't a device function
 */
#include "../hiding.cuh"

COPY {
    simt_warp_op(SIMT_OP_MMA, ~0u, (uint64_t)out, 0, 0);
    if (I < n) out[I] = in[I];
}
