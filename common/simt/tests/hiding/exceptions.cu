/* Moves data as an exception unwinds.
 * expect: refused: exceptions disabled
 */
#include "../hiding.cuh"

struct late {
    float *to, v;
    __device__ ~late() { *to = v; }
};
COPY {
    if (I >= n) return;
    try {
        late l{out + I, in[I]};
        throw 1;
    } catch (int) {
    }
}
