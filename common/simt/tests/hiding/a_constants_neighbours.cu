/* Goes from a table of constants to what lies behind it.
 * expect: found: out-of-bounds
 */
#include "../hiding.cuh"

static const float table[4] = {0, 0, 0, 0};
COPY {
    if (I < n) out[I] = in[I] + table[(n & 3) + (I == 9 ? 1 << 20 : 0)];
}
