/* sampler.h: chooses the next token from a vector of logits.
 *
 * Greedy, or with temperature, min_p (Nguyen et al. 2024), top_k (Fan et al. 2018) and top_p
 * (nucleus sampling: Holtzman et al. 2020), applied in this order as in vLLM; repeatable by seed.
 * Biases and penalties come before all of these (token_rules.h). A logit that is NaN or infinite is
 * an error, because it means that a kernel is broken, and a token would hide that.
 */
#ifndef SERVELAB_MODEL_SAMPLER_H
#define SERVELAB_MODEL_SAMPLER_H

#include "base/err.h"
#include "base/rng.h"
#include "model/token_rules.h"

#include <stdbool.h>
#include <stdint.h>

struct sampler_config {
    float temperature; /* 0: greedy, without the other fields but `rules`; at most
                          SAMPLER_MAX_TEMPERATURE */
    float top_p;       /* 0 < top_p <= 1; 1: the whole vocabulary */
    uint64_t seed;
    int32_t top_k;                   /* 0, -1 or >= vocab_size: the whole vocabulary */
    float min_p;                     /* 0 <= min_p <= 1; 0: the whole vocabulary */
    struct token_rules_config rules; /* copied, with what it points to */
};
#define SAMPLER_MAX_TEMPERATURE                                                                    \
    100.0f /* nearly uniform already; serve/ checks the limit of OpenAI's API, 2 */

/* One sequence's sampler. */
struct sampler {
    struct sampler_config config;
    int32_t vocab_size;
    struct rng rng;
    struct token_rules *rules; /* NULL: none */
    double *weights;           /* (vocab_size) scratch */
    int32_t *heap;             /* (vocab_size) scratch */
    int32_t decided;           /* see sampler_decide; -1: nothing is */
};

/* A choice as numbers, for a machine that has the logits and makes it itself. */
struct sampler_draw {
    float temperature; /* 0: greedy, without the others */
    float top_p;
    int32_t top_k; /* 0: the whole vocabulary */
    double unit;   /* the uniform random number, in [0, 1) */
};

/* 0, or -1 and *e naming "temperature", "top_p" or "min_p". sampler_release after success. */
int sampler_init(struct sampler *s, int32_t vocab_size, const struct sampler_config *c,
                 struct err *e);
void sampler_release(struct sampler *s);

/* The next id given logits[0..vocab_size), or -1 and *e naming the first one that is NaN or
 * infinite.
 *
 * Greedy: the highest logit; of equal ones the lowest id. Otherwise token i has the weight
 * exp((logit_i - highest) / temperature), in double. min_p drops the tokens whose weight is below
 * min_p (the highest weight is 1). top_k keeps the top_k heaviest. top_p < 1 keeps the fewest of
 * these whose weights reach top_p of their sum, and at least one. Equal weights go by rising id.
 * The choice is the first of the kept tokens, by rising id, at which the running sum of their
 * weights exceeds a uniform random number times their sum, as in the kernel `sample`
 * (backend/kernels.h). Each token takes one such number. A chosen token counts for the rules of the
 * next. Equal seeds and logits give equal ids on one machine; the last bit of exp() may differ
 * between C libraries. */
int32_t sampler_next(struct sampler *s, const float *logits, struct err *e);

/* The draw that sampler_next will make, after `ahead` others. False: it depends on more than the
 * logits and these numbers (rules, min_p). */
bool sampler_foresee(const struct sampler *s, int32_t ahead, struct sampler_draw *d);
/* The next sampler_next returns `id`, which its draw gave elsewhere, and reads no logits; it takes
 * the random number all the same. -1: it makes its own choice again. */
void sampler_decide(struct sampler *s, int32_t id);

/* The greedy choice alone: index of the highest of logits[0..n), the lowest on a tie; -1 and *e as
 * above. */
int32_t sampler_greedy(const float *logits, int32_t n, struct err *e);

#endif
