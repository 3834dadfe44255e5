/* printf that follows a pointer, or tells of what it printed.
 * expect: refused: printf here takes
 */
#include "../hiding.cuh"

COPY {
    if (I < n) out[I] = printf("%d\n", I) > 0 ? in[I] : 0;
}
