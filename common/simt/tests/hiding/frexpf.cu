/* A library function stores an integer into the output.
 * expect: counted
 */
#include "../hiding.cuh"

COPY {
    if (I >= n) return;
    float v = in[I];
    frexpf(v, (int *)(out + I));
    out[I] = v;
}
