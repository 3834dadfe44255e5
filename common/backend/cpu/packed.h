/* packed.h: products of weights that are packed for the machine's instructions with rounded
 * activations. This is what --precision fast computes for Q8_0, Q4_0, Q4_1 and BF16.
 *
 * The rest of this comment is about 4-bit and 8-bit weights, whose activations are rounded to 8
 * bits and whose products are summed as integers. packed_bf16.h is about BF16.
 *
 * Activations. Each block of 32 values becomes codes of one byte and a float scale:
 *
 *   scale = greatest magnitude / 127      code = x / scale, to nearest, ties to even
 *
 * A block with an infinity or a NaN gets the scale NaN, so that the product is NaN. A block whose
 * greatest magnitude is below 2^-119 becomes zeros.
 *
 * Products. Over one block, isum = sum of (weight code * activation code) is exact in 32 bits; the
 * weight codes are q (Q8_0, Q4_1) or q - 8 (Q4_0), as in dequant.h. A dot product is one chain over
 * the blocks in order, with one fused multiply-add each:
 *
 *   sum = fma((float)isum, d * scale, sum)
 *   sum = fma(m, scale * (float)(sum of the activation codes), sum)        Q4_1 only
 *
 * The chain doesn't depend on the other tokens, the threads or the kernel, so a result has the same
 * bits with AVX-512, AVX2 and portable C.
 *
 * Packed weights. PACKED_ROWS rows stand side by side, so that one vector instruction multiplies
 * four columns of 16 rows. A group of 16 rows holds, for each block of 32 columns, eight vectors of
 * 16 x 4 codes (4-bit types: four vectors, value i in the low and value i + 16 in the high half of
 * a byte); then the scales of all blocks (block, 16) in half precision; Q4_1: then the minima
 * likewise. Codes of Q8_0 are stored plus 128, because the instruction takes unsigned weights. Rows
 * past the last are zeros. A group is as large as its rows are in the file, padded to 64 bytes.
 */
#ifndef SERVELAB_BACKEND_CPU_PACKED_H
#define SERVELAB_BACKEND_CPU_PACKED_H

#include "backend/cpu/sink.h"
#include "model/tensor.h"

enum { PACKED_ROWS = 16 };

/* Q8_0, Q4_0, Q4_1 and BF16; other types stay exact. */
bool packed_has(enum dtype t);
/* Bytes of one group of 16 rows of `cols` columns. */
size_t packed_group_bytes(enum dtype t, int32_t cols);
/* Packs 16 stored rows; a NULL row is zeros. out: packed_group_bytes, aligned to 64. */
void packed_group(enum dtype t, int32_t cols, const void *const rows[PACKED_ROWS], void *out);

/* One row as floats: the values of dequant_row, but 0 for those of BF16 below 2^-56. groups: w's
 * groups of 16 rows. */
void packed_row(const struct tensor *w, const void *groups, int32_t row, float *out);

/* What activations are rounded to, for products with a packed matrix of type t. */
enum packed_x { PACKED_X_INT8, PACKED_X_BF16, PACKED_X_KINDS };
enum packed_x packed_x_of(enum dtype t);
/* Bytes of the rounded activations of `tokens` tokens. INT8: cols % 32 == 0. */
size_t packed_x_bytes(enum packed_x to, int32_t tokens, int32_t cols);
/* Rounds token `token` of `tokens`. x: (cols); out: packed_x_bytes, aligned to 64. */
void packed_x_row(enum packed_x to, const float *x, int32_t cols, int32_t token, int32_t tokens,
                  void *out);

/* Rows row0 .. row0 + n - 1 of w times all tokens; row 0 of the sink is row0. row0 % 16 == 0.
 * groups: w's groups of 16 rows; x: from packed_x_row. */
void packed_times(const struct tensor *w, const void *groups, int32_t row0, int32_t n,
                  const void *x, int32_t tokens, const struct sink *k);

#endif
