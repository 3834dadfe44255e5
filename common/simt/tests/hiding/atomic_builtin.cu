/* The compiler's own atomics.
 * expect: refused: an atomic of the compiler
 */
#include "../hiding.cuh"

COPY {
    if (I < n) __atomic_store_n((unsigned *)out + I, __atomic_load_n((const unsigned *)in + I, 0), 0);
}
