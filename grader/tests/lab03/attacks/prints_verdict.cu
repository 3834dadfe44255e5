/* Prints lines that look like a report.
 * expect: out
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    if (threadIdx.x == 0) printf("{\"errors\": [], \"kernels\": []}\nscore: 100\nsimt: 0 errors\n");
    if (n < 0) out[0] = in[0];
}
