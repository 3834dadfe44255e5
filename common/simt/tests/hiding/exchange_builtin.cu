/* The compiler's own exchange.
 * expect: refused: an atomic of the compiler's
 */
#include "../hiding.cuh"

COPY {
    if (I < n) __sync_lock_test_and_set((unsigned *)out + I, __sync_fetch_and_add((unsigned *)(in + I), 0));
}
