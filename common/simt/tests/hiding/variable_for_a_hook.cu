/* A variable takes the name of the function that would count.
 * expect: refused: a name of what counts
 */
#include "../hiding.cuh"

extern "C" int simt_ir_read4[];
extern "C" int simt_ir_read4[4] = {0};
COPY {
    simt_ir_read4[n & 3] = 1;
    if (I < n) out[I] = in[I];
}
