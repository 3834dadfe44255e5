/* A copy of the C library's.
 * expect: refused: isn't a device function
 */
#include "../hiding.cuh"

extern "C" void *memccpy(void *, const void *, int, size_t);
COPY {
    if (I < n) memccpy(out + I, in + I, 256, 4);
}
