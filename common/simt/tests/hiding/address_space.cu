/* A store relative to a segment register: it goes elsewhere than its pointer says.
 * expect: refused: an address space
 */
#include "../hiding.cuh"

typedef float segment __attribute__((address_space(257)));

COPY {
    if (I < n) *(segment *)(long)&out[I] = in[I];
}
