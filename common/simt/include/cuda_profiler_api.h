/* cuda_profiler_api.h: empty: cudaProfilerStart and Stop, which do nothing, are in
 * cuda_runtime_api.h. */
#include "cuda_runtime_api.h"
