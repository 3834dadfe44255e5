/* hiding.cuh: what the files of hiding/ share. Each tries to move data, or to change the runtime,
 * where simtcc --hooks=ir doesn't see it; each defines the kernel `copy`, which hiding.c launches.
 */
#ifndef SIMT_TESTS_HIDING_CUH
#define SIMT_TESTS_HIDING_CUH
#define COPY extern "C" __global__ void copy(float *out, const float *in, int n)
#define I    ((int)(blockIdx.x * blockDim.x + threadIdx.x))
#endif
