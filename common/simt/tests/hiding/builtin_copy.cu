/* The compiler's own copies.
 * expect: counted
 */
#include "../hiding.cuh"

COPY {
    if (I < n && I % 2) __builtin_memcpy(out + I, in + I, 4);
    if (I < n && I % 2 == 0) __builtin_memmove(out + I, in + I, I >= 0 ? 4 : 8);
}
