/* sampler.h: the next token from a vector of logits.
 *
 * Offers: greedy choice, temperature and top_p (nucleus sampling: Holtzman et al. 2020), repeatable
 * by seed. Refuses: to choose from logits that are not all finite. A NaN among them means that a
 * kernel is broken, and any token we returned would hide it.
 */
#ifndef SERVELAB_MODEL_SAMPLER_H
#define SERVELAB_MODEL_SAMPLER_H

#include "base/err.h"
#include "base/rng.h"

#include <stdint.h>

struct sampler_config {
    float temperature; /* 0: greedy, and top_p and seed mean nothing; at most
                          SAMPLER_MAX_TEMPERATURE */
    float top_p;       /* 0 < top_p <= 1; 1: the whole vocabulary */
    uint64_t seed;
};
#define SAMPLER_MAX_TEMPERATURE                                                                    \
    100.0f /* flat already; OpenAI's API ends at 2, which serve/ checks */

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
 * weight and then by rising id, whose weights reach top_p of the sum; always at least one. One
 * uniform number is drawn a token. Equal seeds and logits give equal ids on one machine; the last
 * bit of exp() may differ between C libraries. */
int32_t sampler_next(struct sampler *s, const float *logits, struct err *e);

/* The greedy choice alone: index of the highest of logits[0..n), the lowest on a tie; -1 and *e as
 * above. */
int32_t sampler_greedy(const float *logits, int32_t n, struct err *e);

#endif
