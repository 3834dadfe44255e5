/* A library function stores the answer.
 * expect: counted
 */
#include "../hiding.cuh"

COPY {
    float unused;
    if (I < n) sincosf(asinf(in[I]), &out[I], &unused), out[I] = in[I];
}
