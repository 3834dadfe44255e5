/* gemv.cu: matrix times vector, bf16 weights. Defined in backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin gemv.cu
 */
#include "backend/kernels.h"

KERNEL gemv(float *y, const bf16 *w, const float *x, int32_t rows, int32_t cols) {
    LAB_TODO_KERNEL("gemv");
}
