/* quant.cuh: matrices that stay quantised on the device, of the types Q8_0, Q4_0 and Q4_1 (their
 * values: cpu/dequant.h) and QUANT_FP8 (cpu/fp8.h).
 *
 * A row's codes and its scales are apart, so that both can be read in whole words. Codes: one byte
 * a value; or 16 bytes for 32 values, of which byte j has value j in its low half and value j + 16
 * in its high half. Scales: for each 32 values one half, or with Q4_1 two, the factor and what is
 * added; with QUANT_FP8 one float a row. `type` is an enum dtype or QUANT_FP8. cols % 32 == 0, or
 * with QUANT_FP8 cols % 4 == 0.
 *
 * Codes of 8 bits with an exponent are widened by integer operations and a multiplication, in the
 * same way on every device. The instruction that sm_89 and later have for it is not used.
 */
#ifndef SERVELAB_BACKEND_CUDA_QUANT_CUH
#define SERVELAB_BACKEND_CUDA_QUANT_CUH

#include "backend/kernels.h"

#include <cuda_fp16.h>

enum {
    QUANT_ROWS = 8,  /* rows of x that gemv_quant takes at most */
    QUANT_FP8 = 1000 /* no file's type: an enum dtype is less */
};

/* y = x W^T, in float: a weight is d q (+ m), x is not rounded. A warp has 4 rows of W, blocks have
 * 8 warps. Each weight is read once. */
KERNEL gemv_quant(float *y,           // (n, rows)
                  const void *codes,  // (rows, cols)
                  const void *scales, // half (rows, cols / 32[, 2]), or float (rows)
                  const float *x,     // (n, cols)
                  int32_t n, int32_t rows, int32_t cols, int32_t type);

/* out[r] = W[first + r], rounded. */
KERNEL widen_tile(bf16 *out, // (rows, cols)
                  const void *codes, const void *scales, int32_t first, int32_t rows, int32_t cols,
                  int32_t type);

/* out[t] = W[id[t]]. */
KERNEL embedding_quant(float *out, // (tokens, cols)
                       const void *codes, const void *scales, const int32_t *id, int32_t tokens,
                       int32_t cols, int32_t type);

#endif
