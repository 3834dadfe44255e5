/* sample.cu: a draw from the top k and the top p of each row. Defined in backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin sample.cu
 */
#include "backend/kernels.h"

KERNEL sample(int32_t *out, const float *logits, const float *uniform, int32_t rows, int32_t vocab,
              int32_t top_k, float temperature, float top_p) {
    LAB_TODO_KERNEL("sample");
}
