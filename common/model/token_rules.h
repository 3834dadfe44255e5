/* token_rules.h: changes a vector of logits before a token is chosen from it: a minimum length,
 * biases, and penalties for tokens that were used before.
 *
 * The rules apply in vLLM's order (vllm/v1/sample/sampler.py, version 0.33.0):
 *
 *   min_tokens          while fewer tokens were chosen, no token of `ends` can be chosen
 *   logit_bias          logit += bias (OpenAI's API reference)
 *   repetition_penalty  for each token of the prompt or the output: logit / penalty where it is
 *                       above 0, logit * penalty otherwise (Keskar et al. 2019, section 4.1; as
 *                       Hugging Face's RepetitionPenaltyLogitsProcessor)
 *   frequency_penalty   logit -= penalty * (how often the output has the token)
 *   presence_penalty    logit -= penalty, where the output has the token (OpenAI's API reference)
 *
 *   json_object         no token can be chosen after which the output can't become one JSON object
 *                       (json_guide.h); once it is one, only the tokens of `ends` can
 *
 * The two penalties before that count the output alone, as OpenAI and vLLM do. Temperature, min_p,
 * top_k and top_p come after these rules (sampler.h). Requests without a rule have no state here
 * and cost nothing.
 */
#ifndef SERVELAB_MODEL_TOKEN_RULES_H
#define SERVELAB_MODEL_TOKEN_RULES_H

#include "base/err.h"
#include "model/tokenizer.h"

#include <stdint.h>

struct token_bias {
    int32_t id; /* each id at most once */
    float bias;
};

/* Zero-initialised: no rule. token_rules_create copies all of it. */
struct token_rules_config {
    float presence_penalty, frequency_penalty; /* 0: none */
    float repetition_penalty;                  /* > 0; 1, and 0 for "not given": none */
    const struct token_bias *bias;             /* (n_bias) */
    int32_t n_bias;
    int32_t min_tokens;
    const int32_t *ends; /* (n_ends) used with min_tokens and json_object only */
    int32_t n_ends;
    const int32_t *prompt; /* (n_prompt) used with a repetition penalty only */
    int32_t n_prompt;
    const struct tokenizer *json_object; /* not NULL: the output is one JSON object. Not copied */
};

struct token_rules;

/* *r is NULL when no rule is set. Each id must be in the vocabulary. -1 and *e when memory is out.
 */
int token_rules_create(struct token_rules **r, const struct token_rules_config *c,
                       int32_t vocab_size, struct err *e);
void token_rules_free(struct token_rules *r); /* NULL is allowed */

/* The changed copy of logits[0..vocab_size), all finite if logits are; good until the next call.
 * An excluded token has -FLT_MAX, the lowest finite number. NULL and *e when every token is
 * excluded. */
const float *token_rules_apply(struct token_rules *r, const float *logits, struct err *e);
/* The token was chosen. */
void token_rules_note(struct token_rules *r, int32_t id);

#endif
