/* quant.cuh: matrices that stay quantised on the device, of the types Q8_0, Q4_0 and Q4_1 (their
 * values: cpu/dequant.h).
 *
 * A row's codes and its scales are apart, so that both can be read in whole words. Codes: one int8
 * a value; or 16 bytes for 32 values, of which byte j has value j in its low half and value j + 16
 * in its high half. Scales: for each 32 values one half, or with Q4_1 two, the factor and what is
 * added. `type` is an enum dtype. cols % 32 == 0.
 */
#ifndef SERVELAB_BACKEND_CUDA_QUANT_CUH
#define SERVELAB_BACKEND_CUDA_QUANT_CUH

#include "backend/kernels.h"

#include <cuda_fp16.h>

enum { QUANT_ROWS = 8 }; /* rows of x that gemv_quant takes at most */

/* y = x W^T, in float: a weight is d q (+ m), x is not rounded. A warp has 4 rows of W, blocks have
 * 8 warps. Each weight is read once. */
KERNEL gemv_quant(float *y,             // (n, rows)
                  const void *codes,    // (rows, cols)
                  const __half *scales, // (rows, cols / 32[, 2])
                  const float *x,       // (n, cols)
                  int32_t n, int32_t rows, int32_t cols, int32_t type);

/* out[r] = W[first + r], rounded. */
KERNEL widen_tile(bf16 *out, // (rows, cols)
                  const void *codes, const __half *scales, int32_t first, int32_t rows,
                  int32_t cols, int32_t type);

/* out[t] = W[id[t]]. */
KERNEL embedding_quant(float *out, // (tokens, cols)
                       const void *codes, const __half *scales, const int32_t *id, int32_t tokens,
                       int32_t cols, int32_t type);

#endif
