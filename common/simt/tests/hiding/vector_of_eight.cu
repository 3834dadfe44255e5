/* Moves more at once than a GPU can.
 * expect: counted
 */
#include "../hiding.cuh"

typedef float wide __attribute__((vector_size(32), aligned(4)));
COPY {
    int at = I * 8;
    if (at + 8 <= n) *(wide *)(out + at) = *(const wide *)(in + at);
    if (I == 0)
        for (at = n / 8 * 8; at < n; at++) out[at] = in[at];
}
