/* gemv_int8.cu: matrix times vector, int8 weights. Defined in backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin gemv_int8.cu
 */
#include "backend/kernels.h"

KERNEL gemv_int8(float *y, const int8_t *w, const float *scale, const float *x, int32_t rows,
                 int32_t cols) {
    LAB_TODO_KERNEL("gemv_int8");
}
