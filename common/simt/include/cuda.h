/* cuda.h: includes the runtime's interface. The driver's interface (cuInit and so on) is absent, so
 * that the compiler names what a file uses of it. */
#ifndef SIMT_CUDA_H
#define SIMT_CUDA_H

#include "cuda_runtime_api.h"

#define CUDA_VERSION CUDART_VERSION

#endif
