/* rope.h: scaled rotary positions: how a file's scaling changes the frequencies.
 *
 * Linear scaling divides positions by a factor (model_config.rope_scale). The others change each
 * frequency by itself: the plain frequency theta^(-2 i / head_dim) is divided by model.rope_factors
 * [i]. Yarn also multiplies rotated queries and keys (model_config.yarn_magnitude).
 */
#ifndef SERVELAB_MODEL_ROPE_H
#define SERVELAB_MODEL_ROPE_H

#include "model/gguf.h"
#include "model/model.h"

/* Reads "<arch>.rope.scaling.*" into m's rope_scale, or rope_factors and yarn_magnitude; m has
 * head_dim, rope_theta and context_length. 0, or -1 and *e. */
int rope_read_scaling(const struct gguf *g, const char *arch, struct model *m, struct err *e);

/* Llama 3.1: wavelengths above original / low are stretched by factor, those below original / high
 * are not, and those between in part (Hugging Face transformers, modeling_rope_utils.py, "llama3").
 * out: (head_dim / 2) divisors. */
void rope_llama3_factors(float *out, int32_t head_dim, double theta, double factor, double low,
                         double high, double original);

#endif
