/* Changes the counters themselves.
 * expect: refused: a variable of others
 */
#include "../hiding.cuh"

extern "C" char count_traces[];
COPY {
    if (I < n) out[I] = in[I];
    if (I == 0) count_traces[8] = 0;
}
