/* reference.h: a decoder in double that tests compare the native backend with, and random models of
 * any shape.
 *
 * Plain formulas without cache, blocks, threads or vectors. It shares no code with the backend and
 * reads every storage type by itself.
 */
#ifndef SERVELAB_BACKEND_CPU_TESTS_REFERENCE_H
#define SERVELAB_BACKEND_CPU_TESTS_REFERENCE_H

#include "base/rng.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- stored weights, value by value ---------------------------------------------------------- */

static inline double ref_half(const uint8_t *p) {
    int h = p[0] | p[1] << 8, e = h >> 10 & 31, m = h & 1023;
    double v = e == 0 ? ldexp(m, -24) : e == 31 ? (m ? NAN : INFINITY) : ldexp(1024 + m, e - 25);
    return h & 0x8000 ? -v : v;
}

static inline double ref_bf16(const uint8_t *p) {
    uint32_t u = (uint32_t)(p[0] | p[1] << 8) << 16;
    float f;
    memcpy(&f, &u, 4);
    return (double)f;
}

static inline double ref_value(const struct tensor *t, int32_t r, int32_t c) {
    const uint8_t *row = (const uint8_t *)t->data + (size_t)r * dtype_row_bytes(t->dtype, t->cols);
    int32_t b = c / 32, i = c % 32;
    float f;
    switch (t->dtype) {
    case DTYPE_F32:
        memcpy(&f, row + 4 * (size_t)c, 4);
        return (double)f;
    case DTYPE_F16:
        return ref_half(row + 2 * (size_t)c);
    case DTYPE_BF16:
        return ref_bf16(row + 2 * (size_t)c);
    case DTYPE_Q8_0:
        return ref_half(row + 34 * b) * (int8_t)row[34 * b + 2 + i];
    case DTYPE_Q4_0:
        return ref_half(row + 18 * b) *
               ((i < 16 ? row[18 * b + 2 + i] & 15 : row[18 * b + 2 + i - 16] >> 4) - 8);
    case DTYPE_Q4_1:
        return ref_half(row + 20 * b) *
                   (i < 16 ? row[20 * b + 4 + i] & 15 : row[20 * b + 4 + i - 16] >> 4) +
               ref_half(row + 20 * b + 2);
    }
    abort();
}

/* y = W x (+ bias); magnitude[r], where wanted, is the sum of the terms' magnitudes. */
static inline void ref_times(const struct tensor *w, const struct tensor *bias, const double *x,
                             double *y, double *magnitude) {
    for (int32_t r = 0; r < w->rows; r++) {
        double s = bias && bias->data ? ref_value(bias, 0, r) : 0, m = fabs(s);
        for (int32_t c = 0; c < w->cols; c++) {
            double v = ref_value(w, r, c) * x[c];
            s += v;
            m += fabs(v);
        }
        y[r] = s;
        if (magnitude) magnitude[r] = m;
    }
}

/* ---- the decoder ----------------------------------------------------------------------------- */

static inline void ref_norm(double *out, const double *x, const struct tensor *w, float eps) {
    double s = 0;
    for (int32_t i = 0; i < w->cols; i++) s += x[i] * x[i];
    for (int32_t i = 0; i < w->cols; i++)
        out[i] = x[i] / sqrt(s / w->cols + (double)eps) * ref_value(w, 0, i);
}

static inline void ref_rope(const struct model *m, double *head, int32_t pos) {
    int32_t hd = m->config.head_dim;
    for (int32_t i = 0; i < hd / 2; i++) {
        double f = pow((double)m->config.rope_theta, -2.0 * i / hd) / (double)m->config.rope_scale;
        if (m->rope_factors.data) f /= ref_value(&m->rope_factors, 0, i);
        int32_t a = m->rope == ROPE_NEIGHBOURS ? 2 * i : i;
        int32_t b = m->rope == ROPE_NEIGHBOURS ? 2 * i + 1 : i + hd / 2;
        double x = head[a], y = head[b];
        head[a] = x * cos(pos * f) - y * sin(pos * f);
        head[b] = x * sin(pos * f) + y * cos(pos * f);
    }
}

/* The planted faults of cpu.h that no other model or batch reproduces. */
static int32_t ref_lost_block = -1;
static int32_t ref_query_shift = 0;

/* One query over the keys and values of positions 0..pos, or the last `window` of them. k, v:
 * (positions, n_kv * hd) */
static inline void ref_attend(const struct model_config *c, int32_t window, const double *q,
                              const double *k, const double *v, int32_t pos, double *out) {
    int32_t from = window > 0 && pos >= window ? pos + 1 - window : 0;
    double magnitude = c->yarn_magnitude != 0 ? (double)c->yarn_magnitude : 1;
    int32_t hd = c->head_dim, kv_dim = c->n_kv_heads * hd;
    double *p = malloc(((size_t)pos + 1) * sizeof *p);
    for (int32_t h = 0; h < c->n_heads; h++) {
        int32_t g = h / (c->n_heads / c->n_kv_heads);
        double most = -INFINITY, sum = 0;
        for (int32_t t = from; t <= pos; t++) {
            p[t] = 0;
            for (int32_t d = 0; d < hd && t / 16 != ref_lost_block; d++)
                p[t] += q[h * hd + d] * k[t * kv_dim + g * hd + d];
            p[t] *= magnitude * magnitude / sqrt(hd);
            most = p[t] > most ? p[t] : most;
        }
        for (int32_t t = from; t <= pos; t++) sum += p[t] = exp(p[t] - most);
        for (int32_t d = 0; d < hd; d++) {
            double o = 0;
            for (int32_t t = from; t <= pos; t++)
                if (t / 16 != ref_lost_block) o += p[t] / sum * v[t * kv_dim + g * hd + d];
            out[h * hd + d] = o;
        }
    }
    free(p);
}

static inline void ref_layer(const struct model *m, const struct model_layer *y, double *x,
                             int32_t n) {
    const struct model_config *c = &m->config;
    int32_t d = c->d_model, qd = c->n_heads * c->head_dim, kd = c->n_kv_heads * c->head_dim;
    double *norm = calloc((size_t)(d + 2 * qd + 2 * c->d_ffn), sizeof *norm), *q = norm + d,
           *mixed = q + qd, *gate = mixed + qd, *up = gate + c->d_ffn;
    double *k = calloc((size_t)n * (size_t)kd * 2, sizeof *k), *v = k + (size_t)n * (size_t)kd;
    for (int32_t t = 0; t < n; t++) {
        double *xt = x + (size_t)t * (size_t)d, *kt = k + (size_t)t * (size_t)kd;
        ref_norm(norm, xt, &y->attn_norm, c->rms_eps);
        ref_times(&y->wq, &y->bq, norm, q, NULL);
        ref_times(&y->wk, &y->bk, norm, kt, NULL);
        ref_times(&y->wv, &y->bv, norm, v + (size_t)t * (size_t)kd, NULL);
        for (int32_t h = 0; h < c->n_heads; h++)
            ref_rope(m, q + h * c->head_dim, t + ref_query_shift);
        for (int32_t h = 0; h < c->n_kv_heads; h++) ref_rope(m, kt + h * c->head_dim, t);
        ref_attend(c, y->windowed ? c->window : 0, q, k, v, t, mixed);
        ref_times(&y->wo, NULL, mixed, norm, NULL);
        for (int32_t i = 0; i < d; i++) xt[i] += norm[i];
        ref_norm(norm, xt, &y->ffn_norm, c->rms_eps);
        ref_times(&y->w_gate, NULL, norm, gate, NULL);
        ref_times(&y->w_up, NULL, norm, up, NULL);
        for (int32_t i = 0; i < c->d_ffn; i++) gate[i] = gate[i] / (1 + exp(-gate[i])) * up[i];
        ref_times(&y->w_down, NULL, gate, norm, NULL);
        for (int32_t i = 0; i < d; i++) xt[i] += norm[i];
    }
    free(norm);
    free(k);
}

/* logits: (n, vocab_size) of every position of one sequence. */
static inline void ref_forward(const struct model *m, const int32_t *tokens, int32_t n,
                               double *logits) {
    const struct model_config *c = &m->config;
    double *x = calloc((size_t)(n + 1) * (size_t)c->d_model, sizeof *x),
           *norm = x + (size_t)n * (size_t)c->d_model;
    for (int32_t t = 0; t < n; t++)
        for (int32_t i = 0; i < c->d_model; i++)
            x[(size_t)t * (size_t)c->d_model + (size_t)i] = ref_value(&m->embedding, tokens[t], i);
    for (int32_t l = 0; l < c->n_layers; l++) ref_layer(m, &m->layers[l], x, n);
    for (int32_t t = 0; t < n; t++) {
        ref_norm(norm, x + (size_t)t * (size_t)c->d_model, &m->final_norm, c->rms_eps);
        ref_times(&m->head, NULL, norm, logits + (size_t)t * (size_t)c->vocab_size, NULL);
    }
    free(x);
}

/* ---- random models --------------------------------------------------------------------------- */

static inline float ref_uniform(struct rng *r, double half_width) {
    return (float)((2 * rng_unit(r) - 1) * half_width);
}

static inline void ref_put_half(uint8_t *p, double v) { /* truncated; below 2^-14: zero */
    int e;
    double f = frexp(fabs(v), &e);
    int h = e < -13 ? 0 : (v < 0 ? 0x8000 : 0) | (e + 14) << 10 | ((int)(f * 2048) & 1023);
    p[0] = (uint8_t)h;
    p[1] = (uint8_t)(h >> 8);
}

/* Random values of about 1/sqrt(cols), so that activations keep their size. Blocked types get
 * random scales and codes directly, without the code that quantises. */
static inline struct tensor ref_tensor(struct rng *r, enum dtype type, int32_t rows, int32_t cols,
                                       double centre, double half_width) {
    size_t row_bytes = dtype_row_bytes(type, cols), n = row_bytes * (size_t)rows;
    uint8_t *p = malloc(n);
    struct tensor t = {p, type, rows, cols};
    size_t block = type == DTYPE_Q8_0 ? 34 : type == DTYPE_Q4_0 ? 18 : 20;
    for (size_t i = 0; i < n;) {
        float f = (float)centre + ref_uniform(r, half_width);
        uint32_t u;
        memcpy(&u, &f, 4);
        if (type == DTYPE_F32) {
            memcpy(p + i, &f, 4);
            i += 4;
        } else if (type == DTYPE_BF16) {
            p[i++] = (uint8_t)(u >> 16);
            p[i++] = (uint8_t)(u >> 24);
        } else if (type == DTYPE_F16) {
            ref_put_half(p + i, (double)f);
            i += 2;
        } else {
            double codes = type == DTYPE_Q8_0 ? 127 : 8;
            for (size_t j = 0; j < block; j++) p[i + j] = (uint8_t)rng_next(r);
            ref_put_half(p + i, half_width / codes * (0.5 + rng_unit(r)));
            if (type == DTYPE_Q4_1) ref_put_half(p + i + 2, -half_width * (0.5 + rng_unit(r)));
            i += block;
        }
    }
    return t;
}

static inline struct model *ref_model(struct model_config c, enum rope_pairing rope, bool biased,
                                      enum dtype type, uint64_t seed) {
    struct model *m = calloc(1, sizeof *m);
    struct rng r;
    rng_seed(&r, seed);
    m->config = c;
    m->rope = rope;
    int32_t d = c.d_model, qd = c.n_heads * c.head_dim, kd = c.n_kv_heads * c.head_dim;
    double w = sqrt(3.0 / d), wq = sqrt(3.0 / qd), wf = sqrt(3.0 / c.d_ffn);
    m->embedding = ref_tensor(&r, type, c.vocab_size, d, 0, 1);
    m->head = c.tied ? m->embedding : ref_tensor(&r, type, c.vocab_size, d, 0, w);
    m->final_norm = ref_tensor(&r, DTYPE_F32, 1, d, 1, 0.5);
    m->layers = calloc((size_t)c.n_layers, sizeof *m->layers);
    for (int32_t i = 0; i < c.n_layers; i++) {
        struct model_layer *y = &m->layers[i];
        y->attn_norm = ref_tensor(&r, DTYPE_F32, 1, d, 1, 0.5);
        y->ffn_norm = ref_tensor(&r, DTYPE_F32, 1, d, 1, 0.5);
        y->wq = ref_tensor(&r, type, qd, d, 0, 2 * w); /* scores far enough apart to matter */
        y->wk = ref_tensor(&r, type, kd, d, 0, 2 * w);
        y->wv = ref_tensor(&r, type, kd, d, 0, w);
        y->wo = ref_tensor(&r, type, d, qd, 0, wq);
        y->w_gate = ref_tensor(&r, type, c.d_ffn, d, 0, w);
        y->w_up = ref_tensor(&r, type, c.d_ffn, d, 0, w);
        y->w_down = ref_tensor(&r, type, d, c.d_ffn, 0, wf);
        if (!biased) continue;
        y->bq = ref_tensor(&r, DTYPE_F32, 1, qd, 0, 0.5);
        y->bk = ref_tensor(&r, DTYPE_F32, 1, kd, 0, 0.5);
        y->bv = ref_tensor(&r, DTYPE_F32, 1, kd, 0, 0.5);
    }
    return m;
}

static inline void ref_model_free(struct model *m) {
    if (m->head.data != m->embedding.data) free((void *)m->head.data);
    free((void *)m->embedding.data);
    free((void *)m->final_norm.data);
    free((void *)m->rope_factors.data);
    for (int32_t i = 0; i < m->config.n_layers; i++) {
        struct model_layer *y = &m->layers[i];
        const struct tensor *all[] = {&y->attn_norm, &y->ffn_norm, &y->wq,     &y->wk,
                                      &y->wv,        &y->wo,       &y->w_gate, &y->w_up,
                                      &y->w_down,    &y->bq,       &y->bk,     &y->bv};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) free((void *)all[k]->data);
    }
    free(m->layers);
    free(m);
}

static inline void ref_tokens(const struct model *m, uint64_t seed, int32_t *tokens, int32_t n) {
    struct rng r;
    rng_seed(&r, seed);
    for (int32_t i = 0; i < n; i++)
        tokens[i] = (int32_t)rng_below(&r, (uint64_t)m->config.vocab_size);
}

#endif
