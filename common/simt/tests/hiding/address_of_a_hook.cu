/* Declares a hook as a function without effects, which the compiler could leave out.
 * expect: refused: can be called only
 */
#include "../hiding.cuh"

extern "C" void simt_ir_read4(void *, const void *) __attribute__((const));

COPY {
    if (I < n) out[I] = (long)&simt_ir_read4 == 77 ? 0 : in[I];
}
