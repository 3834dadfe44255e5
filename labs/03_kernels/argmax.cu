/* argmax.cu: the greatest logit of each row. The contract stands in backend/kernels.h.
 *
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/argmax.cu
 */
#include "backend/kernels.h"

KERNEL argmax(int32_t *out, const float *logits, int32_t rows, int32_t vocab) {
    LAB_TODO_KERNEL("argmax");
}
