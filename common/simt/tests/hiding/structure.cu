/* A structure of 128 bytes assigned.
 * expect: counted
 */
#include "../hiding.cuh"

struct part { float x[32]; };
COPY {
    int at = I * 32;
    if (at + 32 <= n) *(part *)(out + at) = *(const part *)(in + at);
    if (I == 0)
        for (at = n / 32 * 32; at < n; at++) out[at] = in[at];
}
