/* Hands the output to the runtime as the record of a shared variable.
 * expect: refused: isn't a device function
 */
#include "../hiding.cuh"

COPY {
    simt_shared((simt_shared_var *)out, 16, 16);
    if (I < n) out[I] = in[I];
}
