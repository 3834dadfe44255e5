/* fp8.h: numbers of 8 bits with an exponent, E4M3 of the OCP 8-bit floating point specification,
 * and rows of weights in them.
 *
 * A code has a sign, 4 bits of exponent (bias 7) and 3 of mantissa. The greatest value is 448, the
 * least 2^-9. There is no infinity; 0x7f and 0xff are NaN.
 */
#ifndef SERVELAB_BACKEND_CPU_FP8_H
#define SERVELAB_BACKEND_CPU_FP8_H

#include <stdint.h>

float fp8_to_f32(uint8_t code);
/* To nearest, ties to even; what is greater than 448 becomes 448 (the specification's saturating
 * conversion). NaN stays NaN. */
uint8_t fp8_from_f32(float f);

/* Rounds a row. *scale is the least power of two with which no value is cut. Value i is then
 * *scale * fp8_to_f32(codes[i]), which is exact in float, and with its 4 significant bits in bf16.
 * A row of zeros has scale 0. One with an infinity has no finite value. */
void fp8_from_row(const float *x, int32_t cols, float *scale, uint8_t *codes);

#endif
