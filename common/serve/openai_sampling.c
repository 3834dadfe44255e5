/* openai_sampling.c: reads the fields that say how tokens are chosen. What they do is in
 * model/sampler.h and model/token_rules.h; the bounds are OpenAI's where it has the field, and else
 * vLLM's. */
#include "serve/openai_fields.h"

#include "base/json.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_float(const cJSON *v, const char *name, double lo, double hi, float *out,
                      struct err *e) {
    double x = 0;
    if (field_real(v, name, lo, hi, &x, e)) return -1;
    *out = (float)x;
    return 0;
}

int read_temperature(struct openai_request *r, const cJSON *v, const char *name, struct err *e) {
    return read_float(v, name, 0, 2, &r->sampling.temperature, e);
}

int read_top_p(struct openai_request *r, const cJSON *v, const char *name, struct err *e) {
    if (read_float(v, name, 0, 1, &r->sampling.top_p, e)) return -1;
    if (v->valuedouble > 0) { /* 1e-300 is, though not as a float */
        if (r->sampling.top_p < FLT_MIN) r->sampling.top_p = FLT_MIN;
        return 0;
    }
    return err_at(e, 0, name, "must be above 0 and at most 1, not %g", v->valuedouble);
}

/* 0 and -1: all tokens, as in vLLM. */
int read_top_k(struct openai_request *r, const cJSON *v, const char *name, struct err *e) {
    int64_t k = 0;
    if (field_int(v, name, -1, INT32_MAX, &k, e)) return -1;
    r->sampling.top_k = (int32_t)k;
    return 0;
}

int read_min_p(struct openai_request *r, const cJSON *v, const char *name, struct err *e) {
    return read_float(v, name, 0, 1, &r->sampling.min_p, e);
}

int read_seed(struct openai_request *r, const cJSON *v, const char *name, struct err *e) {
    int64_t seed = 0;
    if (field_int(v, name, -JSON_MAX_INT, JSON_MAX_INT, &seed, e)) return -1;
    r->sampling.seed = (uint64_t)seed;
    r->has_seed = true;
    return 0;
}

int read_min_tokens(struct openai_request *r, const cJSON *v, const char *name, struct err *e) {
    int64_t n = 0;
    if (field_int(v, name, 0, INT32_MAX, &n, e)) return -1;
    r->sampling.rules.min_tokens = (int32_t)n;
    return 0;
}

int read_presence_penalty(struct openai_request *r, const cJSON *v, const char *name,
                          struct err *e) {
    return read_float(v, name, -2, 2, &r->sampling.rules.presence_penalty, e);
}

int read_frequency_penalty(struct openai_request *r, const cJSON *v, const char *name,
                           struct err *e) {
    return read_float(v, name, -2, 2, &r->sampling.rules.frequency_penalty, e);
}

/* vLLM has no upper bound; this one is far beyond any use and keeps logits finite. */
int read_repetition_penalty(struct openai_request *r, const cJSON *v, const char *name,
                            struct err *e) {
    return read_float(v, name, 0.01, 100, &r->sampling.rules.repetition_penalty, e);
}

/* A token id as JSON writes a whole number, so that no id can be there twice. */
static bool read_id(const char *key, int32_t vocab_size, int32_t *id) {
    size_t digits = strspn(key, "0123456789");
    if (digits == 0 || digits > 9 || key[digits] || (key[0] == '0' && digits > 1)) return false;
    *id = (int32_t)strtol(key, NULL, 10);
    return *id < vocab_size;
}

int read_logit_bias(struct openai_request *r, const cJSON *v, const char *name, struct err *e) {
    if (!cJSON_IsObject(v)) return field_wrong_type(v, name, "an object", e);
    int n = cJSON_GetArraySize(v);
    if (n > OPENAI_MAX_BIASES)
        return err_at(e, 0, name, "has at most %d tokens, not %d", OPENAI_MAX_BIASES, n);
    if (n == 0) return 0;
    r->bias = malloc((size_t)n * sizeof *r->bias);
    if (!r->bias) return err_at(e, 0, name, "no memory for %d tokens", n);
    struct token_bias *b = r->bias;
    for (const cJSON *m = v->child; m; m = m->next, b++) {
        char place[96];
        snprintf(place, sizeof place, "%s.%.64s", name, m->string);
        if (!read_id(m->string, r->vocab_size, &b->id))
            return err_at(e, 0, place, "must be a token id below %d, such as \"42\"",
                          r->vocab_size);
        if (read_float(m, place, -100, 100, &b->bias, e)) return -1;
    }
    r->sampling.rules.bias = r->bias;
    r->sampling.rules.n_bias = n;
    return 0;
}
