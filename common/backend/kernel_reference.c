/* kernel_reference.c: the kernels' mathematics in double. See kernel_reference.h. */
#include "backend/kernel_reference.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double reference_bf16(uint16_t h) {
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

uint16_t reference_bf16_nearest(double d) {
    float f = (float)d; /* the second rounding matters only for a double that no float holds */
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* ---- single rows ----------------------------------------------------------------------------- */

void reference_copy_strided(double *out, const float *in, int64_t rows, int64_t cols,
                            int64_t stride) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) out[r * cols + c] = (double)in[r * stride + c];
}

void reference_rmsnorm(double *out, double *residual_out, const float *residual, const float *x,
                       const float *weight, int64_t rows, int64_t d, double eps) {
    for (int64_t r = 0; r < rows; r++) {
        double squares = 0;
        for (int64_t i = r * d; i < (r + 1) * d; i++) {
            residual_out[i] = (double)residual[i] + (double)x[i];
            squares += residual_out[i] * residual_out[i];
        }
        for (int64_t i = 0; i < d; i++)
            out[r * d + i] =
                (double)weight[i] * residual_out[r * d + i] / sqrt(squares / (double)d + eps);
    }
}

void reference_softmax(double *out, const float *x, int64_t rows, int64_t d) {
    for (int64_t r = 0; r < rows; r++) {
        const float *row = x + r * d;
        double greatest = (double)row[0], sum = 0;
        for (int64_t i = 1; i < d; i++) greatest = fmax(greatest, (double)row[i]);
        for (int64_t i = 0; i < d; i++) sum += exp((double)row[i] - greatest);
        for (int64_t i = 0; i < d; i++) out[r * d + i] = exp((double)row[i] - greatest) / sum;
    }
}

/* One head: (a, b) -> (a cos - b sin, a sin + b cos). */
static void turn(double *out, const float *in, const float *cosines, const float *sines,
                 int64_t half) {
    for (int64_t i = 0; i < half; i++) {
        double a = (double)in[i], b = (double)in[i + half];
        out[i] = a * (double)cosines[i] - b * (double)sines[i];
        out[i + half] = a * (double)sines[i] + b * (double)cosines[i];
    }
}

void reference_rope(double *q_out, double *kpool_out, double *vpool_out, const float *q,
                    const float *k, const float *v, const float *cosines, const float *sines,
                    const int32_t *position, const int32_t *slot, int64_t tokens,
                    struct reference_heads heads) {
    int64_t d = heads.head_dim, half = d / 2;
    for (int64_t t = 0; t < tokens; t++) {
        const float *c = cosines + position[t] * half, *s = sines + position[t] * half;
        for (int64_t h = 0; h < heads.q_heads; h++) {
            int64_t at = (t * heads.q_heads + h) * d;
            turn(q_out + at, q + at, c, s, half);
        }
        for (int64_t h = 0; h < heads.kv_heads; h++) {
            int64_t from = (t * heads.kv_heads + h) * d;
            int64_t to = ((slot[t] / 16 * heads.kv_heads + h) * 16 + slot[t] % 16) * d;
            turn(kpool_out + to, k + from, c, s, half);
            for (int64_t i = 0; i < d; i++) vpool_out[to + i] = (double)v[from + i];
        }
    }
}

void reference_swiglu(double *out, const float *gate_up, int64_t rows, int64_t d) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < d; i++) {
            double gate = (double)gate_up[r * 2 * d + i], up = (double)gate_up[r * 2 * d + d + i];
            out[r * d + i] = gate / (1 + exp(-gate)) * up;
        }
}

void reference_embedding(double *out, const uint16_t *table, const int32_t *id, int64_t tokens,
                         int64_t d) {
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t i = 0; i < d; i++) out[t * d + i] = reference_bf16(table[id[t] * d + i]);
}

/* ---- matrix products ------------------------------------------------------------------------- */

void reference_gemm(double *c, const float *a, const float *b, int64_t m, int64_t n, int64_t k) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++) sum += (double)a[i * k + l] * (double)b[l * n + j];
            c[i * n + j] = sum;
        }
}

void reference_gemv(double *y, const uint16_t *w, const float *x, int64_t rows, int64_t cols) {
    for (int64_t r = 0; r < rows; r++) {
        y[r] = 0;
        for (int64_t c = 0; c < cols; c++) y[r] += reference_bf16(w[r * cols + c]) * (double)x[c];
    }
}

void reference_gemv_int8(double *y, const int8_t *w, const float *scale, const float *x,
                         int64_t rows, int64_t cols) {
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int64_t c = 0; c < cols; c++) sum += (double)w[r * cols + c] * (double)x[c];
        y[r] = (double)scale[r] * sum;
    }
}

/* ---- attention ------------------------------------------------------------------------------- */

/* Where the key and value at `position` of query head h begin in the pools. */
static int64_t cache_at(const struct reference_cache *c, const int32_t *table, int64_t position,
                        int64_t h) {
    int64_t kv_head = h / (c->heads.q_heads / c->heads.kv_heads);
    int64_t block = table[position / 16];
    return ((block * c->heads.kv_heads + kv_head) * 16 + position % 16) * c->heads.head_dim;
}

static double score(const struct reference_cache *c, const float *q, int64_t at) {
    double sum = 0;
    for (int64_t i = 0; i < c->heads.head_dim; i++)
        sum += (double)q[i] * reference_bf16(c->kpool[at + i]);
    return sum * c->scale;
}

/* Query q of head h over positions first .. end - 1: greatest score, sum of exponentials, weighted
 * values. Zeros when there are none. */
static void attend(const struct reference_cache *c, const float *q, int64_t h, const int32_t *table,
                   int64_t first, int64_t end, double *greatest, double *sum, double *values) {
    int64_t d = c->heads.head_dim;
    for (int64_t i = 0; i < d; i++) values[i] = 0;
    *greatest = *sum = 0;
    for (int64_t p = first; p < end; p++) {
        double s = score(c, q, cache_at(c, table, p, h));
        if (p == first || s > *greatest) *greatest = s;
    }
    for (int64_t p = first; p < end; p++) {
        int64_t at = cache_at(c, table, p, h);
        double e = exp(score(c, q, at) - *greatest);
        *sum += e;
        for (int64_t i = 0; i < d; i++) values[i] += e * reference_bf16(c->vpool[at + i]);
    }
}

void reference_attention_prefill(double *out, const float *q, const struct reference_cache *cache,
                                 const int32_t *block_table, int64_t pos0, int64_t tokens) {
    int64_t heads = cache->heads.q_heads, d = cache->heads.head_dim;
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t h = 0; h < heads; h++) {
            double greatest, sum, *o = out + (t * heads + h) * d;
            attend(cache, q + (t * heads + h) * d, h, block_table, 0, pos0 + t + 1, &greatest, &sum,
                   o);
            for (int64_t i = 0; i < d; i++) o[i] /= sum;
        }
}

void reference_attention_decode(double *partial, double *split_max, double *split_sum,
                                const float *q, const struct reference_cache *cache,
                                const int32_t *block_tables, const int32_t *length, int64_t seqs,
                                int64_t max_blocks, int64_t splits) {
    int64_t heads = cache->heads.q_heads, d = cache->heads.head_dim;
    for (int64_t s = 0; s < seqs; s++) {
        int64_t blocks = (length[s] + 15) / 16, a_split = (blocks + splits - 1) / splits * 16;
        for (int64_t h = 0; h < heads; h++)
            for (int64_t i = 0; i < splits; i++) {
                int64_t at = (s * heads + h) * splits + i;
                int64_t first = i * a_split, end = first + a_split;
                attend(cache, q + (s * heads + h) * d, h, block_tables + s * max_blocks, first,
                       end < length[s] ? end : length[s], &split_max[at], &split_sum[at],
                       partial + at * d);
            }
    }
}

void reference_attention_merge(double *out, const float *partial, const float *split_max,
                               const float *split_sum, int64_t seqs_times_heads, int64_t head_dim,
                               int64_t splits) {
    for (int64_t r = 0; r < seqs_times_heads; r++) {
        double greatest = -INFINITY, sum = 0;
        for (int64_t s = r * splits; s < (r + 1) * splits; s++)
            if (split_sum[s] > 0) greatest = fmax(greatest, (double)split_max[s]);
        for (int64_t i = 0; i < head_dim; i++) out[r * head_dim + i] = 0;
        for (int64_t s = r * splits; s < (r + 1) * splits; s++) {
            if (!(split_sum[s] > 0)) continue;
            double e = exp((double)split_max[s] - greatest);
            sum += e * (double)split_sum[s];
            for (int64_t i = 0; i < head_dim; i++)
                out[r * head_dim + i] += e * (double)partial[s * head_dim + i];
        }
        for (int64_t i = 0; i < head_dim; i++) out[r * head_dim + i] /= sum;
    }
}

/* ---- the next token -------------------------------------------------------------------------- */

int32_t reference_argmax(const float *logits, int64_t vocab) {
    int32_t best = 0;
    for (int32_t i = 1; i < vocab; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

struct candidate {
    float logit;
    int32_t id;
    double weight;
};

static int heavier_first(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    if (x->logit != y->logit) return x->logit > y->logit ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}
static int lower_id_first(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* All candidates, heaviest first, and how many of them top_k keeps. NULL: no memory. */
static struct candidate *ranked(const float *logits, const struct reference_sampling *c,
                                int64_t *kept) {
    struct candidate *all = malloc((size_t)c->vocab * sizeof *all);
    if (!all) return NULL;
    double greatest = (double)logits[reference_argmax(logits, c->vocab)];
    for (int32_t i = 0; i < c->vocab; i++)
        all[i] =
            (struct candidate){logits[i], i, exp(((double)logits[i] - greatest) / c->temperature)};
    qsort(all, (size_t)c->vocab, sizeof *all, heavier_first);
    *kept = c->top_k > 0 && c->top_k < c->vocab ? c->top_k : c->vocab;
    return all;
}

/* How many of the first n are needed to reach p of their sum. */
static int64_t nucleus(const struct candidate *all, int64_t n, double p) {
    double sum = 0, mass = 0;
    for (int64_t i = 0; i < n; i++) sum += all[i].weight;
    if (p >= 1) return n;
    for (int64_t i = 0; i < n; i++)
        if ((mass += all[i].weight) >= p * sum) return i + 1;
    return n;
}

int32_t reference_sample(const float *logits, double uniform, const struct reference_sampling *c) {
    int64_t n;
    struct candidate *all = ranked(logits, c, &n);
    if (!all) return -1;
    n = nucleus(all, n, c->top_p);
    qsort(all, (size_t)n, sizeof *all, lower_id_first);
    double total = 0, running = 0;
    for (int64_t i = 0; i < n; i++) total += all[i].weight;
    int32_t id = -1;
    for (int64_t i = 0; i < n; i++) {
        if (all[i].weight > 0) id = all[i].id;
        if ((running += all[i].weight) > uniform * total) break;
    }
    free(all);
    return id;
}

/* Whether `id`'s interval of the running sum over the first n, in order of index, is within `slack`
 * of `uniform`. */
static bool stretch_near(struct candidate *all, int64_t n, int32_t id, double uniform,
                         double slack) {
    double total = 0, before = 0, own = -1;
    for (int64_t i = 0; i < n; i++) {
        total += all[i].weight;
        if (all[i].id < id) before += all[i].weight;
        if (all[i].id == id) own = all[i].weight;
    }
    return own > 0 && uniform >= before / total - slack &&
           uniform <= (before + own) / total + slack;
}

bool reference_sample_allows(const float *logits, double uniform,
                             const struct reference_sampling *c, int32_t id) {
    const double slack = 1e-4;
    int64_t n;
    struct candidate *all = ranked(logits, c, &n);
    INVARIANT(all != NULL);
    bool allowed = false;
    int64_t few = c->top_p >= 1 ? n : nucleus(all, n, c->top_p * (1 - slack));
    int64_t many = nucleus(all, n, c->top_p * (1 + slack));
    for (int64_t k = few; k <= many && !allowed; k++)
        allowed = stretch_near(all, k, id, uniform, slack);
    free(all);
    return allowed;
}
