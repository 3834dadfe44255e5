/* cuda_pipeline.h: empty: __pipeline_memcpy_async and the related calls are in cuda_runtime.h. */
#include "cuda_runtime.h"
