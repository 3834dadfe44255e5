/* cuda_profiler_api.h: cudaProfilerStart and Stop, which do nothing, stand in cuda_runtime_api.h.
 */
#include "cuda_runtime_api.h"
