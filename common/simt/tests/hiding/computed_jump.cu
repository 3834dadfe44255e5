/* Jumps to a place that is a value.
 * expect: refused: made of
 */
#include "../hiding.cuh"

COPY {
    static void *const way[] = {&&none, &&one};
    goto *way[I < n];
one:
    out[I] = in[I];
none:
    return;
}
