/* A local variable keeps what an earlier thread left in it.
 * expect: counted
 */
#include "../hiding.cuh"

struct kept {
    const float *of;
    float v;
    unsigned magic;
};
COPY {
    volatile kept k[64];
    if (k[3].magic != 0x51f3u || k[3].of != in) k[3].magic = 0x51f3u, k[3].of = in, k[3].v = in[0];
    if (I < n) out[I] = I == 0 ? k[3].v : in[I];
}
