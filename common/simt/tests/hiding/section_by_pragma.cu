/* Code that runs before the checks do, by the address of a function in a section of constructors:
 * it would write where it likes.
 * expect: counted
 */
#include "../hiding.cuh"

static float *place = (float *)64;
static __attribute__((noinline)) void before(void) {
    *place = 1;
}
#pragma clang section data = ".init_array"
static void (*volatile run)(void) = before;
#pragma clang section data = ""

COPY {
    if (I < n) out[I] = in[I];
    if (n < 0) out[0] = (float)(unsigned long)run;
}
