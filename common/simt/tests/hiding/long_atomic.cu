/* An atomic of 4096 bytes.
 * expect: refused: isn't a device function
 */
#include "../hiding.cuh"

COPY {
    if (I < n) out[I] = in[I] + 0 * (float)simt_atomic_load(in, 4096);
}
