/* Keeps registers by setjmp.
 * expect: refused: isn't a device function
 */
#include "../hiding.cuh"

extern "C" int _setjmp(void *) __attribute__((returns_twice));
COPY {
    if (I < n) _setjmp(out + I), out[I] = in[I];
}
