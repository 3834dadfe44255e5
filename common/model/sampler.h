/* sampler.h: chooses the next token from a vector of logits.
 *
 * Greedy, or with temperature and top_p (nucleus sampling: Holtzman et al. 2020), repeatable by
 * seed. A logit that is NaN or infinite is an error, because it means that a kernel is broken, and
 * a token would hide that.
 */
#ifndef SERVELAB_MODEL_SAMPLER_H
#define SERVELAB_MODEL_SAMPLER_H

#include "base/err.h"
#include "base/rng.h"

#include <stdint.h>

struct sampler_config {
    float temperature; /* 0: greedy, without top_p and seed; at most
                          SAMPLER_MAX_TEMPERATURE */
    float top_p;       /* 0 < top_p <= 1; 1: the whole vocabulary */
    uint64_t seed;
};
#define SAMPLER_MAX_TEMPERATURE                                                                    \
    100.0f /* nearly uniform already; serve/ checks the limit of OpenAI's API, 2 */

/* One sequence's sampler. */
struct sampler {
    struct sampler_config config;
    int32_t vocab_size;
    struct rng rng;
    double *weights; /* (vocab_size) scratch */
    int32_t *heap;   /* (vocab_size) scratch */
};

/* 0, or -1 and *e naming "temperature" or "top_p". sampler_release after success. */
int sampler_init(struct sampler *s, int32_t vocab_size, const struct sampler_config *c,
                 struct err *e);
void sampler_release(struct sampler *s);

/* The next id given logits[0..vocab_size), or -1 and *e naming the first one that is NaN or
 * infinite.
 *
 * Greedy: the highest logit; of equal ones the lowest id. Otherwise token i has the weight
 * exp((logit_i - highest) / temperature), in double. top_p < 1 keeps the fewest tokens, by falling
 * weight and then by rising id, whose weights reach top_p of the sum, and at least one. Each token
 * takes one uniform random number. Equal seeds and logits give equal ids on one machine; the last
 * bit of exp() may differ between C libraries. */
int32_t sampler_next(struct sampler *s, const float *logits, struct err *e);

/* The greedy choice alone: index of the highest of logits[0..n), the lowest on a tie; -1 and *e as
 * above. */
int32_t sampler_greedy(const float *logits, int32_t n, struct err *e);

#endif
