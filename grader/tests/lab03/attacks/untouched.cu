/* Writes nothing.
 * expect: no thread wrote it
 */
#include "backend/kernels.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    if (n < 0) out[0] = in[0];
}
