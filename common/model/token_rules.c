/* token_rules.c: see token_rules.h. */
#include "model/token_rules.h"

#include "model/json_guide.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct token_rules {
    struct token_rules_config c; /* its pointers are to the copies below */
    int32_t vocab_size, n_chosen;
    float *logits;           /* (vocab_size) */
    uint32_t *count;         /* (vocab_size) how often the output has the token */
    unsigned char *prompted; /* (vocab_size) 1: the prompt has the token */
    struct token_bias *bias;
    int32_t *ends;
    struct json_guide json; /* of the output so far */
};

static int allocate(struct token_rules *r, struct err *e) {
    size_t vocab = (size_t)r->vocab_size;
    r->logits = malloc(vocab * sizeof *r->logits);
    r->count = calloc(vocab, sizeof *r->count);
    r->prompted = calloc(vocab, sizeof *r->prompted);
    r->bias = malloc((size_t)(r->c.n_bias + 1) * sizeof *r->bias);
    r->ends = malloc((size_t)(r->c.n_ends + 1) * sizeof *r->ends);
    if (r->logits && r->count && r->prompted && r->bias && r->ends) return 0;
    return err_set(e, "no memory for penalties over %d tokens", r->vocab_size);
}

int token_rules_create(struct token_rules **out, const struct token_rules_config *c,
                       int32_t vocab_size, struct err *e) {
    *out = NULL;
    bool repeats = c->repetition_penalty != 0 && c->repetition_penalty != 1;
    if (c->presence_penalty == 0 && c->frequency_penalty == 0 && !repeats && c->n_bias == 0 &&
        c->min_tokens == 0 && !c->json_object)
        return 0;
    struct token_rules *r = calloc(1, sizeof *r);
    if (!r) return err_set(e, "no memory for penalties");
    r->c = *c;
    r->vocab_size = vocab_size;
    if (!repeats) r->c.repetition_penalty = 1;
    if (allocate(r, e)) {
        token_rules_free(r);
        return -1;
    }
    if (c->n_bias > 0) memcpy(r->bias, c->bias, (size_t)c->n_bias * sizeof *c->bias);
    if (c->n_ends > 0) memcpy(r->ends, c->ends, (size_t)c->n_ends * sizeof *c->ends);
    for (int32_t i = 0; i < c->n_prompt; i++) r->prompted[c->prompt[i]] = 1;
    r->c.prompt = NULL;
    *out = r;
    return 0;
}

void token_rules_free(struct token_rules *r) {
    if (!r) return;
    free(r->logits);
    free(r->count);
    free(r->prompted);
    free(r->bias);
    free(r->ends);
    free(r);
}

static float clamp(float x) {
    return fminf(fmaxf(x, -FLT_MAX), FLT_MAX);
}

static bool is_end(const struct token_rules *r, int32_t id) {
    for (int32_t i = 0; i < r->c.n_ends; i++)
        if (r->ends[i] == id) return true;
    return false;
}

/* Excludes every token that breaks the JSON object. False when none is left. */
static bool keep_json(struct token_rules *r) {
    bool some = false;
    for (int32_t i = 0; i < r->vocab_size; i++) {
        struct json_guide next = r->json;
        size_t n;
        const char *bytes = tokenizer_token_bytes(r->c.json_object, i, false, &n);
        bool fits =
            json_guide_done(&r->json) ? is_end(r, i) : n > 0 && json_guide_push(&next, bytes, n);
        if (!fits) r->logits[i] = -FLT_MAX;
        some = some || fits;
    }
    return some;
}

const float *token_rules_apply(struct token_rules *r, const float *logits, struct err *e) {
    const struct token_rules_config *c = &r->c;
    float *x = r->logits;
    memcpy(x, logits, (size_t)r->vocab_size * sizeof *x);
    for (int32_t i = 0; i < c->n_bias; i++) x[r->bias[i].id] += r->bias[i].bias;
    for (int32_t i = 0; i < r->vocab_size; i++) {
        if (!r->prompted[i] && !r->count[i]) continue;
        float repeat = c->repetition_penalty;
        x[i] = clamp(x[i] > 0 ? x[i] / repeat : x[i] * repeat);
        if (r->count[i]) x[i] -= c->frequency_penalty * (float)r->count[i] + c->presence_penalty;
    }
    /* last here: no other rule may bring an excluded token back */
    for (int32_t i = 0; i < c->n_ends && r->n_chosen < c->min_tokens; i++) x[r->ends[i]] = -FLT_MAX;
    if (!c->json_object || keep_json(r)) return x;
    err_set(e, "no token of the vocabulary continues the JSON object");
    return NULL;
}

void token_rules_note(struct token_rules *r, int32_t id) {
    r->count[id]++;
    r->n_chosen++;
    if (!r->c.json_object || json_guide_done(&r->json)) return;
    size_t n;
    const char *bytes = tokenizer_token_bytes(r->c.json_object, id, false, &n);
    json_guide_push(&r->json, bytes, n);
}
