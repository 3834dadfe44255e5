/* swiglu.cu: SwiGLU's gate. Defined in backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin swiglu.cu
 */
#include "backend/kernels.h"

KERNEL swiglu(float *out, const float *gate_up, int32_t rows, int32_t d) {
    LAB_TODO_KERNEL("swiglu");
}
