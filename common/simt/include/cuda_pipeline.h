/* cuda_pipeline.h: nothing that cuda_runtime.h does not bring: __pipeline_memcpy_async and its kin.
 */
#include "cuda_runtime.h"
