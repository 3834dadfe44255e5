/* Takes stack whose size is a value.
 * expect: refused: a local array has a size
 */
#include "../hiding.cuh"

COPY {
    volatile float *room = (volatile float *)__builtin_alloca((size_t)(n & 7) * 4 + 4);
    for (int k = 0; k <= (n & 7); k++) room[k] = I < n ? in[I] : 0;
    if (I < n) out[I] = room[n & 7];
}
