/* packed_bf16.h: products of bfloat16 weights with activations rounded to bfloat16, summed in
 * float. packed.h calls this for matrices of type BF16.
 *
 * Activations are rounded to bfloat16, to nearest, ties to even. A weight or a rounded activation
 * whose magnitude is below 2^-56 becomes zero.
 *
 * A dot product is one chain over the pairs of columns in order, with two fused multiply-adds in
 * float a pair, the odd column first; a missing last column is zero:
 *
 *   sum = fma(w[c + 1], x[c + 1], sum);   sum = fma(w[c], x[c], sum)        c = 0, 2, 4, ...
 *
 * This is what the instruction vdpbf16ps computes. It also takes subnormal numbers for zero, and
 * gives zero for a subnormal result. Neither happens here: every weight and activation is a
 * multiple of 2^-63, so every product and every sum is a multiple of 2^-126, the least normal
 * float. The chain doesn't depend on the other tokens, the threads or the kernel, so a result that
 * is no NaN has the same bits with and without the instruction.
 *
 * Packed weights: a group of 16 rows holds, for each pair of columns, 16 x 2 weights. Rows past the
 * last are zeros.
 */
#ifndef SERVELAB_BACKEND_CPU_PACKED_BF16_H
#define SERVELAB_BACKEND_CPU_PACKED_BF16_H

#include "backend/cpu/sink.h"
#include "model/tensor.h"

/* The functions of packed.h of the same names. */
size_t packed_bf16_group_bytes(int32_t cols);
void packed_bf16_group(int32_t cols, const void *const rows[], void *out);
void packed_bf16_row(const struct tensor *w, const void *groups, int32_t row, float *out);
size_t packed_bf16_x_bytes(int32_t tokens, int32_t cols);
void packed_bf16_x_row(const float *x, int32_t cols, int32_t token, void *out);
void packed_bf16_times(const struct tensor *w, const void *groups, int32_t row0, int32_t n,
                       const void *x, int32_t tokens, const struct sink *k);

#endif
