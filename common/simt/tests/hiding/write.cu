/* Writes to a file.
 * expect: refused: isn't a device function
 */
#include "../hiding.cuh"

extern "C" long write(int, const void *, size_t);
COPY {
    if (I < n) write(2, in + I, 4), out[I] = in[I];
}
