/* argmax.cu: the greatest logit of each row. Defined in backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin argmax.cu
 */
#include "backend/kernels.h"

KERNEL argmax(int32_t *out, const float *logits, int32_t rows, int32_t vocab) {
    LAB_TODO_KERNEL("argmax");
}
