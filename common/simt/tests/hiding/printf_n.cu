/* printf that follows a pointer, or tells of what it printed.
 * expect: refused: printf here takes
 */
#include "../hiding.cuh"

COPY {
    if (I < n) printf("abc%n\n", (int *)(out + I)), out[I] = in[I];
}
