/* token_scores.c: see token_scores.h. */
#include "model/token_scores.h"

#include <math.h>

/* Puts token i among best[0..n), which fall; returns the new n. */
static int32_t insert(struct token_score *best, int32_t n, int32_t top, int32_t i, float logit) {
    if (n == top && (top == 0 || logit <= best[n - 1].logprob)) return n;
    int32_t at = n < top ? n : n - 1;
    for (; at > 0 && logit > best[at - 1].logprob; at--) best[at] = best[at - 1];
    best[at] = (struct token_score){i, logit};
    return n < top ? n + 1 : n;
}

void token_scores(const float *logits, int32_t vocab_size, int32_t id, int32_t top,
                  struct token_score *row) {
    float highest = logits[0];
    int32_t n = 0;
    for (int32_t i = 0; i < vocab_size; i++) {
        if (logits[i] > highest) highest = logits[i];
        n = insert(row + 1, n, top, i, logits[i]);
    }
    double sum = 0;
    for (int32_t i = 0; i < vocab_size; i++) sum += exp((double)logits[i] - (double)highest);
    double whole = (double)highest + log(sum);
    row[0] = (struct token_score){id, (float)((double)logits[id] - whole)};
    for (int32_t k = 1; k <= n; k++) row[k].logprob = (float)((double)row[k].logprob - whole);
}
