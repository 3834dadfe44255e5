/* A variable that a function would start.
 * expect: found: host-pointer|wrong
 */
#include "../hiding.cuh"

static __noinline__ float start() { return 3; }
static float kept = start();
COPY {
    if (I < n) out[I] = kept == 3 ? in[I] : 0;
}
