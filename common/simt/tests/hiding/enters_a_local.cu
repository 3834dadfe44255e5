/* Announces the whole stack as a local variable of one's own.
 * expect: refused: isn't a device function
 */
#include "../hiding.cuh"

extern "C" void simt_ir_enter(void *, size_t);
COPY {
    float here;
    simt_ir_enter(&here - 4096, 65536);
    if (I < n) out[I] = in[I];
}
