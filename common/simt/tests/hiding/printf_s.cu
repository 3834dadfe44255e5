/* printf that follows a pointer, or tells of what it printed.
 * expect: refused: printf here takes
 */
#include "../hiding.cuh"

COPY {
    if (I < n) printf("%s\n", (const char *)(in + I)), out[I] = in[I];
}
