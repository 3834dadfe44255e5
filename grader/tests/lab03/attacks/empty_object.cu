/* Defines another kernel.
 * expect: doesn't define the kernel
 */
#include "backend/kernels.h"

KERNEL other(float *out) {
    out[0] = 1;
}
