/* Moves more at once than a GPU can.
 * expect: counted
 */
#include "../hiding.cuh"

typedef unsigned __int128 wide __attribute__((aligned(4)));
COPY {
    int at = I * 4;
    if (at + 4 <= n) *(wide *)(out + at) = *(const wide *)(in + at);
    if (I == 0)
        for (at = n / 4 * 4; at < n; at++) out[at] = in[at];
}
