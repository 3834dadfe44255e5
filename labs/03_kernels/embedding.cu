/* embedding.cu: rows of the embedding table, widened. Defined in backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin embedding.cu
 */
#include "backend/kernels.h"

KERNEL embedding(float *out, const bf16 *table, const int32_t *id, int32_t tokens, int32_t d) {
    LAB_TODO_KERNEL("embedding");
}
