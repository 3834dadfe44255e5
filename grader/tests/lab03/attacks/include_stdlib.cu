/* Reads the grader's own files.
 * expect: `"../../grader/lab03/oracle.h"`: a kernel includes
 */
#include "backend/kernels.h"

#include "../../grader/lab03/oracle.h"

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = in[i];
}
