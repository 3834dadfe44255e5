/* swiglu.cu: SwiGLU's gate. The contract stands in backend/kernels.h.
 *
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/swiglu.cu
 */
#include "backend/kernels.h"

KERNEL swiglu(float *out, const float *gate_up, int32_t rows, int32_t d) {
    LAB_TODO_KERNEL("swiglu");
}
