/* Looks at memory by strlen.
 * expect: refused: isn't a device function
 */
#include "../hiding.cuh"

extern "C" size_t strlen(const char *);
COPY {
    if (I < n) out[I] = in[I] + (strlen((const char *)(in + I)) > 1000000 ? 1.0f : 0.0f);
}
