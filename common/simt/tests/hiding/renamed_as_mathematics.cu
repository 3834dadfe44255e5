/* A name of the mathematics with a signature of its own.
 * expect: refused: isn't a device function
 */
#include "../hiding.cuh"

#pragma redefine_extname carry j1f
extern "C" void carry(void *, const void *, size_t);
COPY {
    if (I < n) carry(out + I, in + I, 4);
}
