/* An address that nobody computed.
 * expect: found: |counted|wrong|refused: 
 */
#include "../hiding.cuh"

COPY {
    const float *p;
    if (n == 7) p = in;
    if (I < n) out[I] = in[I] + 0.0f * p[I];
}
