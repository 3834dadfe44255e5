/* Keeps its values in a vector of 2 KiB, which the compiler treats as a register.
 * expect: refused: a value of more than 64 bytes
 */
#include "../hiding.cuh"

typedef float wide __attribute__((vector_size(2048)));

COPY {
    wide keep;
    if (I >= n) return;
    for (int k = 0; k < n % 500 + 2; k++) keep[k] = in[I];
    out[I] = keep[n % 500];
}
