/* Writes to the program's variables, by their distance from the code.
 * expect: found: host-pointer|found: out-of-bounds
 */
#include "../hiding.cuh"

COPY {
    if (I < n) out[I] = in[I];
    for (uintptr_t far = 0x1000; I == 0 && far < 0x400000; far += 0x1000) *(volatile unsigned *)((uintptr_t)&copy + far) = 0;
}
