/* rope.c: see rope.h. Formulas: Peng et al. 2023 ("YaRN", section 3.2 and appendix A), as Hugging
 * Face transformers (modeling_rope_utils.py) and llama.cpp (ggml_rope_yarn_corr_dims) have them. */
#include "model/rope.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the keys say. Zero: not given. */
struct scaling {
    const struct gguf *g;
    const char *arch;
    struct err *e;
    char key[96]; /* the last one that was read */
};

/* 0; 1: absent; -1 and the error: not above lo and below hi. */
static int number(struct scaling *s, const char *suffix, double lo, double hi, double *out) {
    snprintf(s->key, sizeof s->key, "%s.rope.%s", s->arch, suffix);
    int rc = gguf_get_float(s->g, s->key, out, s->e);
    if (rc == 0 && !(*out > lo && *out < hi))
        return err_at(s->e, 0, s->key, "is %g; it must lie between %g and %g", *out, lo, hi);
    return rc;
}

/* The factor; some files write 0 for none. */
static int read_factor(struct scaling *s, double *factor) {
    int rc = number(s, "scaling.factor", -1e300, 1e300, factor);
    if (rc == 1) rc = number(s, "scale_linear", -1e300, 1e300, factor);
    if (rc < 0) return -1;
    if (*factor == 0) *factor = 1;
    if (!(*factor > 1e-3 && *factor < 1e6))
        return err_at(s->e, 0, s->key, "is %g; it must lie between 0.001 and 1000000", *factor);
    return 0;
}

/* Keys that have a meaning with yarn alone. */
static int refuse_yarn_keys(struct scaling *s) {
    static const struct {
        const char *suffix, *a, *b, *only;
    } keys[] = {{"attn_factor", "1", "1", "1"}, {"yarn_ext_factor", "0", "-1", "0 or -1"}};
    for (size_t i = 0; i < 2; i++) {
        char value[64];
        snprintf(s->key, sizeof s->key, "%s.rope.scaling.%s", s->arch, keys[i].suffix);
        gguf_show_value(s->g, s->key, value, sizeof value);
        if (strcmp(value, "absent") && strcmp(value, keys[i].a) && strcmp(value, keys[i].b))
            return err_at(s->e, 0, s->key,
                          "is %s; only %s is supported without yarn scaling, because another value "
                          "changes the model's answers",
                          value, keys[i].only);
    }
    return 0;
}

/* The pair of values, counted as a real number, that turns `turns` times within `original`
 * positions. */
static double pair_of_turns(double turns, int32_t head_dim, double theta, double original) {
    return head_dim * log(original / (turns * 2 * M_PI)) / (2 * log(theta));
}

static int read_yarn(struct scaling *s, struct model *m) {
    const struct model_config *c = &m->config;
    double factor = 1, attn = 1, ext = 1, fast = 32, slow = 1;
    int64_t original = c->context_length;
    if (read_factor(s, &factor) || number(s, "scaling.attn_factor", 0, 1e6, &attn) < 0 ||
        number(s, "scaling.yarn_beta_fast", 0, 1e6, &fast) < 0 ||
        number(s, "scaling.yarn_beta_slow", 0, 1e6, &slow) < 0 ||
        number(s, "scaling.yarn_ext_factor", -1e6, 1e6, &ext) < 0)
        return -1;
    if (ext != 1 && ext != -1)
        return err_at(s->e, 0, s->key, "is %g; only 1 and -1 are supported with yarn scaling", ext);
    snprintf(s->key, sizeof s->key, "%s.rope.scaling.original_context_length", s->arch);
    if (gguf_get_int(s->g, s->key, 1, 1 << 24, &original, s->e) < 0) return -1;
    if (!(c->rope_theta > 1))
        return err_at(s->e, 0, s->key, "yarn scaling needs a rope theta above 1, not %g",
                      (double)c->rope_theta);
    int32_t pairs = c->head_dim / 2;
    double theta = (double)c->rope_theta, n = (double)original;
    double low = fmax(floor(pair_of_turns(fast, c->head_dim, theta, n)), 0);
    double high = fmin(ceil(pair_of_turns(slow, c->head_dim, theta, n)), c->head_dim - 1);
    if (low == high) high += 0.001;
    m->own_factors = malloc((size_t)pairs * sizeof *m->own_factors);
    if (!m->own_factors) return err_set(s->e, "out of memory");
    for (int32_t i = 0; i < pairs; i++) {
        double kept = 1 - fmin(fmax((i - low) / (high - low), 0), 1);
        m->own_factors[i] = (float)(1 / ((1 - kept) / factor + kept));
    }
    m->rope_factors = (struct tensor){m->own_factors, DTYPE_F32, 1, pairs};
    m->config.yarn_magnitude = (float)(attn * (factor > 1 ? 1 + 0.1 * log(factor) : 1));
    return 0;
}

int rope_read_scaling(const struct gguf *g, const char *arch, struct model *m, struct err *e) {
    struct scaling s = {.g = g, .arch = arch, .e = e};
    struct gguf_str type = {"linear", 6}; /* the default (llama.cpp, src/llama-model.cpp) */
    char type_key[96];
    double factor = 1;
    m->config.rope_scale = 1;
    snprintf(type_key, sizeof type_key, "%s.rope.scaling.type", arch);
    if (gguf_get_str(g, type_key, &type, e) < 0) return -1;
    if (gguf_value_is(g, type_key, "yarn")) return read_yarn(&s, m);
    bool none = gguf_value_is(g, type_key, "none");
    if (!none && (type.n != 6 || memcmp(type.s, "linear", 6) != 0))
        return err_at(e, 0, type_key,
                      "is '%.*s'; models with linear or yarn rope scaling, without any, or with a "
                      "rope_freqs.weight tensor are supported",
                      (int)(type.n < 32 ? type.n : 32), type.s);
    if (refuse_yarn_keys(&s) || read_factor(&s, &factor)) return -1;
    m->config.rope_scale = none ? 1 : (float)factor;
    return 0;
}

void rope_llama3_factors(float *out, int32_t head_dim, double theta, double factor, double low,
                         double high, double original) {
    for (int32_t i = 0; i < head_dim / 2; i++) {
        double wavelength = 2 * M_PI * pow(theta, 2.0 * i / head_dim);
        double smooth = (original / wavelength - low) / (high - low);
        if (wavelength < original / high)
            out[i] = 1;
        else if (wavelength > original / low)
            out[i] = (float)factor;
        else
            out[i] = (float)(1 / ((1 - smooth) / factor + smooth));
    }
}
