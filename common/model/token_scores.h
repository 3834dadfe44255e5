/* token_scores.h: the log-probability of a token, and of the most likely ones.
 *
 * They are those of the model's own logits, before temperature, bias and penalties, as vLLM reports
 * them (logprobs_mode "raw_logprobs"): logit - log(sum of exp(logits)), summed in double.
 */
#ifndef SERVELAB_MODEL_TOKEN_SCORES_H
#define SERVELAB_MODEL_TOKEN_SCORES_H

#include <stdint.h>

enum { TOKEN_SCORES_MAX_TOP = 20 }; /* OpenAI's bound for chat, and vLLM's default */

struct token_score {
    int32_t id;
    float logprob; /* NaN: unknown (the first token of a prompt) */
};

/* row[0] is token `id`; row[1] to row[top] are the most likely tokens, of equal ones the lowest id
 * first. logits[0..vocab_size) are finite; 0 <= top <= TOKEN_SCORES_MAX_TOP and top <= vocab_size.
 */
void token_scores(const float *logits, int32_t vocab_size, int32_t id, int32_t top,
                  struct token_score *row);

#endif
