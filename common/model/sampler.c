/* sampler.c: see sampler.h. */
#include "model/sampler.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Tests the exponent bits, which no compiler flag can optimise away. */
static bool is_finite_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7f800000u) != 0x7f800000u;
}

int sampler_init(struct sampler *s, int32_t vocab_size, const struct sampler_config *c,
                 struct err *e) {
    INVARIANT(vocab_size > 0);
    *s = (struct sampler){.config = *c, .vocab_size = vocab_size, .decided = -1};
    if (!is_finite_bits(c->temperature) || c->temperature < 0 ||
        c->temperature > SAMPLER_MAX_TEMPERATURE)
        return err_at(e, 0, "temperature", "must lie between 0 and %g", SAMPLER_MAX_TEMPERATURE);
    if (!is_finite_bits(c->top_p) || c->top_p <= 0 || c->top_p > 1)
        return err_at(e, 0, "top_p", "must be above 0 and at most 1");
    if (!is_finite_bits(c->min_p) || c->min_p < 0 || c->min_p > 1)
        return err_at(e, 0, "min_p", "must lie between 0 and 1");
    if (token_rules_create(&s->rules, &c->rules, vocab_size, e)) return -1;
    s->config.rules = (struct token_rules_config){0}; /* copied; its pointers are the caller's */
    rng_seed(&s->rng, c->seed);
    if (c->temperature == 0) return 0;
    s->weights = malloc((size_t)vocab_size * sizeof *s->weights);
    s->heap = malloc((size_t)vocab_size * sizeof *s->heap);
    if (s->weights && s->heap) return 0;
    sampler_release(s);
    return err_set(e, "out of memory for sampling from %d tokens", vocab_size);
}

void sampler_release(struct sampler *s) {
    free(s->weights);
    free(s->heap);
    token_rules_free(s->rules);
    s->rules = NULL;
    s->weights = NULL;
    s->heap = NULL;
}

/* The highest of finite logits; -1 and *e when one is not finite. */
int32_t sampler_greedy(const float *logits, int32_t n, struct err *e) {
    int32_t best = 0;
    for (int32_t i = 0; i < n; i++) {
        if (!is_finite_bits(logits[i]))
            return err_set(e, "logit %d is %s: the model's computation is broken", i,
                           logits[i] != logits[i] ? "not a number" : "infinite");
        if (logits[i] > logits[best]) best = i;
    }
    return best;
}

/* The whole vocabulary: walk the weights until `target` of their sum is passed. */
static int32_t draw_from_all(const struct sampler *s, double target) {
    int32_t last = 0;
    for (int32_t i = 0; i < s->vocab_size; i++) {
        if (s->weights[i] <= 0) continue; /* underflowed: it can't be chosen, not even at the end */
        target -= s->weights[i];
        last = i;
        if (target < 0) break;
    }
    return last;
}

/* ---- top_k, top_p: a heap gives the heaviest tokens in order; few are needed
 * ------------------------ */

static bool heavier(const struct sampler *s, int32_t a, int32_t b) {
    return s->weights[a] != s->weights[b] ? s->weights[a] > s->weights[b] : a < b;
}

static void sift_down(struct sampler *s, int32_t n, int32_t at) {
    int32_t *h = s->heap, moved = h[at];
    for (int32_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && heavier(s, h[child + 1], h[child])) child++;
        if (!heavier(s, h[child], moved)) break;
        h[at] = h[child];
    }
    h[at] = moved;
}

/* Moves the heaviest remaining token to h[n - 1]. */
static void heap_pop(struct sampler *s, int32_t n) {
    int32_t top = s->heap[0];
    s->heap[0] = s->heap[n - 1];
    s->heap[n - 1] = top;
    sift_down(s, n - 1, 0);
}

static int32_t draw_from_nucleus(struct sampler *s, double sum, double unit) {
    int32_t n = s->vocab_size, k = s->config.top_k, popped = 0, kept = 0;
    for (int32_t i = 0; i < n; i++) s->heap[i] = i;
    for (int32_t i = n / 2 - 1; i >= 0; i--) sift_down(s, n, i);
    if (k > 0 && k < n) {
        for (sum = 0; popped < k; popped++) {
            heap_pop(s, n - popped);
            sum += s->weights[s->heap[n - 1 - popped]];
        }
    }
    double reach = (double)s->config.top_p * sum, mass = 0;
    int32_t most = popped > 0 ? popped : n;
    while (kept < most && (kept == 0 || mass < reach)) {
        if (kept >= popped) heap_pop(s, n - kept);
        double weight = s->weights[s->heap[n - 1 - kept]];
        if (weight <= 0) break; /* dropped, or underflowed: it can't be chosen */
        mass += weight;
        kept++;
    }
    for (int32_t i = 0; i < n - kept; i++) s->weights[s->heap[i]] = 0;
    return draw_from_all(s, unit * mass);
}

static int32_t choose(struct sampler *s, const float *logits, struct err *e) {
    int32_t best = sampler_greedy(logits, s->vocab_size, e);
    if (best < 0 || s->config.temperature == 0) return best;
    double sum = 0, inverse = 1.0 / (double)s->config.temperature;
    for (int32_t i = 0; i < s->vocab_size; i++) {
        double weight = exp(((double)logits[i] - (double)logits[best]) * inverse);
        s->weights[i] = weight < (double)s->config.min_p ? 0 : weight;
        sum += s->weights[i];
    }
    double unit = rng_unit(&s->rng);
    bool some = s->config.top_p < 1 || (s->config.top_k > 0 && s->config.top_k < s->vocab_size);
    return some ? draw_from_nucleus(s, sum, unit) : draw_from_all(s, unit * sum);
}

bool sampler_foresee(const struct sampler *s, int32_t ahead, struct sampler_draw *d) {
    const struct sampler_config *c = &s->config;
    *d = (struct sampler_draw){.temperature = c->temperature, .top_p = 1};
    if (s->rules || (c->temperature > 0 && c->min_p > 0)) return false;
    if (c->temperature == 0) return true;
    d->top_p = c->top_p;
    d->top_k = c->top_k > 0 && c->top_k < s->vocab_size ? c->top_k : 0;
    struct rng rng = s->rng;
    for (int32_t i = 0; i <= ahead; i++) d->unit = rng_unit(&rng);
    return true;
}

void sampler_decide(struct sampler *s, int32_t id) {
    s->decided = id;
}

int32_t sampler_next(struct sampler *s, const float *logits, struct err *e) {
    int32_t id = s->decided;
    s->decided = -1;
    if (id >= 0 && s->config.temperature > 0) rng_unit(&s->rng);
    if (id >= 0) return id;
    if (!s->rules) return choose(s, logits, e);
    if (sampler_greedy(logits, s->vocab_size, e) < 0) return -1; /* a rule could hide it */
    const float *changed = token_rules_apply(s->rules, logits, e);
    id = changed ? choose(s, changed, e) : -1;
    if (id >= 0) token_rules_note(s->rules, id);
    return id;
}
