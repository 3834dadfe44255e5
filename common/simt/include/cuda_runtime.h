/* cuda_runtime.h: CUDA C++ for plain g++ and clang++; simtcc includes it before every .cu file.
 *
 * In a C file it is cuda_runtime_api.h. What a kernel may use is listed in common/simt/simt.h.
 */
#ifndef SIMT_CUDA_RUNTIME_H
#define SIMT_CUDA_RUNTIME_H
#define __CUDA_RUNTIME_H__ /* NVIDIA's samples test it in their helper_cuda.h */

#include "cuda_runtime_api.h"

#ifdef __cplusplus
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <math.h> /* isfinite and the like without std::, clock: nvcc has them too */
#include <time.h>
#include <utility>

/* not traced in check mode: simt's own code between the runtime and a kernel */
#if !defined(SIMT_CHECK)
#define SIMT_UNSEEN
#elif defined(__clang__)
#define SIMT_UNSEEN __attribute__((no_sanitize("thread", "coverage"), annotate("simt unseen")))
#else
#define SIMT_UNSEEN __attribute__((no_sanitize("thread"), no_sanitize_coverage))
#endif
#define SIMT_INLINE static inline __attribute__((always_inline))

#include "simt_launch.h"
#include "simt_warp.h"
#include "simt_atomic.h"
#include "simt_math.h"
#include "simt_host.h"
#endif

#endif
