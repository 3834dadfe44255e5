/* Writes behind a local array.
 * expect: found: out-of-bounds
 */
#include "../hiding.cuh"

COPY {
    volatile uintptr_t a[4];
    a[0] = 1;
    a[(n & 3) + 9] = 5;
    if (I < n) out[I] = in[I];
}
