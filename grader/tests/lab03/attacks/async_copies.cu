/* Copies that claim to be asynchronous are counted: right, and version 1.
 * expect: meets version 1
 * points: 1
 */
#include "backend/kernels.h"
#include <cuda_pipeline.h>

KERNEL copy(float *out, const float *in, int32_t n) {
    int32_t each = 16, from = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x) * each;
    for (int32_t i = from; i < n && i < from + each; i++) __pipeline_memcpy_async(&out[i], &in[i], sizeof(float));
    __pipeline_commit();
    __pipeline_wait_prior(0);
}
