/* gemm.cu: matrix product in float. Defined in backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin gemm.cu
 */
#include "backend/kernels.h"

KERNEL gemm(float *c, const float *a, const float *b, int32_t m, int32_t n, int32_t k) {
    LAB_TODO_KERNEL("gemm");
}
