/* A declaration that a pragma gives another name.
 * expect: refused: isn't a device function|counted
 */
#include "../hiding.cuh"

#pragma redefine_extname carry memcpy
extern "C" void *carry(void *, const void *, size_t);
COPY {
    if (I < n) carry(out + I, in + I, 4);
}
