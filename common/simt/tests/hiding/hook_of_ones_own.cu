/* Defines the function that would count.
 * expect: refused: a name of what counts
 */
#include "../hiding.cuh"

extern "C" __attribute__((used)) void simt_ir_read4(void *, const void *) {}
COPY {
    if (I < n) out[I] = in[I];
}
