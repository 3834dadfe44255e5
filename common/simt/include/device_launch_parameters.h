/* device_launch_parameters.h: threadIdx and its kin stand in cuda_runtime.h. */
#include "cuda_runtime.h"
