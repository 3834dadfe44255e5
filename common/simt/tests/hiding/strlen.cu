/* Looks at memory by strlen.
 * expect: refused: isn't a device function
 */
#include "../hiding.cuh"

extern "C" size_t strlen(const char *);
COPY {
    if (I < n) out[I] = in[I] + 0 * (float)strlen((const char *)(in + I));
}
