/* ops.h: computes what a layer does between its matrix products: RMSNorm, rotary positions,
 * SwiGLU's gate.
 *
 * Each works on one token's vector and reads nothing of any other token.
 */
#ifndef SERVELAB_BACKEND_CPU_OPS_H
#define SERVELAB_BACKEND_CPU_OPS_H

#include "model/model.h"

#include <stdint.h>

/* out[i] = weight[i] * (x[i] / sqrt(mean(x^2) + eps)). The squares are summed in VW partial sums
 * and vf_sum, the root and the quotient are taken in double. out may not be x. */
void ops_rmsnorm(float *out, const float *x, const float *weight, int32_t n, float eps);

/* gate[i] = silu(gate[i]) * up[i], silu(a) = a / (1 + e^-a). */
void ops_silu_mul(float *gate, const float *up, int32_t n);

/* The angles of one position: cos and sin of position * frequency[i], i < head_dim / 2. As the
 * models were trained (Hugging Face transformers), frequency and product are rounded to float; cos
 * and sin of that angle are then right within one unit in the last place. */
void ops_rope_angles(float *cosines, float *sines, const float *frequency, int32_t half,
                     int32_t position);

/* frequency[i] = theta^(-2 i / head_dim) / scale, divided by factors[i] where factors isn't NULL;
 * i < head_dim / 2. */
void ops_rope_frequencies(float *frequency, int32_t head_dim, float theta, float scale,
                          const float *factors);

/* Rotates one head of head_dim values in place: each pair (a, b) becomes (a cos - b sin,
 * a sin + b cos). */
void ops_rope(float *head, int32_t head_dim, enum rope_pairing pairing, const float *cosines,
              const float *sines);

#endif
