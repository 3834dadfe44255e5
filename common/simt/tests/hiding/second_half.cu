/* Only the second half of an atomic, which isn't counted.
 * expect: found: crash
 */
#include "../hiding.cuh"

COPY {
    if (I < n) simt_atomic_store(out + I, 4, __float_as_uint(in[I]));
}
