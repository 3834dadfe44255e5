/* A variable of the machine's thread keeps values.
 * expect: refused: a kernel's thread has
 */
#include "../hiding.cuh"

static thread_local float kept;
COPY {
    if (I < n) kept = in[I], out[I] = kept;
    if (I == 0) out[I] = kept;
}
