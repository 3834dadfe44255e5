/* A warp operation whose number is a matrix product in 8 bits.
 * expect: refused: isn't a device function
 */
#include "../hiding.cuh"

COPY {
    simt_warp_op((enum simt_warp_op)(256 + SIMT_OP_MMA), ~0u, (uint64_t)out, 0, 0);
    if (I < n) out[I] = in[I];
}
