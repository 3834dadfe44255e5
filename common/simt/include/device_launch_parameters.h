/* device_launch_parameters.h: empty: threadIdx, blockIdx ... are in cuda_runtime.h. */
#include "cuda_runtime.h"
