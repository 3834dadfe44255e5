/* forward.c: one step through a Llama-family decoder, in the order of the formulas:
 *
 *   x = embedding[token]
 *   for each layer:
 *     n = rmsnorm(x);   q, k, v = Wq n + bq, Wk n + bk, Wv n + bv;   rotate q, k;   cache k, v
 *     x = x + Wo attention(q, cache)
 *     n = rmsnorm(x);   x = x + Wdown (silu(Wgate n) * (Wup n))
 *   logits = Whead rmsnorm(x)
 *
 * All tokens of all sequences of the step are rows of one matrix; only attention treats sequences
 * separately. In the last layer, a row whose logits aren't wanted ends once its keys and values are
 * cached.
 */
#include "backend/cpu/state.h"

#include "backend/cpu/dequant.h"
#include "backend/cpu/ops.h"
#include "backend/cpu/packed.h"
#include "sched/policy.h"

#include <math.h>
#include <string.h>

enum { TOKENS_PER_ITEM = 8 }; /* in the cheap loops over tokens: a few microseconds of work */

struct step {
    struct cpu_backend *b;
    int32_t rows; /* tokens that are still computed */
    const struct cpu_layer *layer;
    const float *norm_weight;
    uint8_t *layer_keys, *layer_values;
};

static void over_rows(struct step *s, pool_fn *fn);
static void embed_rows(void *ctx, int32_t item, int32_t thread);
static void norm(struct step *s, const float *weight);
static void attend(struct step *s, const struct attention_span *last, int32_t n_last);
static void feed_forward(struct step *s);
static struct matmul times(const struct step *s, const float *x);

/* ---- a step ---------------------------------------------------------------------------------- */

/* Fills the step's flat lists of rows; returns the number of rows whose logits are wanted. */
static int32_t lay_out(struct cpu_backend *b, const struct backend_batch *batch) {
    int32_t row = 0, wanted = 0;
    for (int32_t i = 0; i < batch->n_seqs; i++) {
        const struct backend_seq *q = &batch->seqs[i];
        b->spans[i] = (struct attention_span){q->block_table, q->pos0, q->n_tokens, row};
        for (int32_t j = 0; j < q->n_tokens; j++, row++) {
            int32_t pos = q->pos0 + j;
            b->token[row] = q->tokens[j];
            b->position[row] = pos;
            b->slot[row] =
                q->block_table[pos / KV_BLOCK_TOKENS] * KV_BLOCK_TOKENS + pos % KV_BLOCK_TOKENS;
        }
        for (int32_t k = q->want_logits; k > 0; k--) {
            b->last_spans[wanted] =
                (struct attention_span){q->block_table, q->pos0 + q->n_tokens - k, 1, wanted};
            b->last_row[wanted++] = row - k;
        }
    }
    return wanted;
}

void cpu_forward(struct cpu_backend *b, const struct backend_batch *batch, float *logits) {
    int32_t wanted = lay_out(b, batch);
    struct step s = {.b = b};
    for (int32_t i = 0; i < batch->n_seqs; i++) s.rows += batch->seqs[i].n_tokens;
    over_rows(&s, embed_rows);
    attention_plan(b->attention, b->spans, batch->n_seqs);
    int32_t n_layers = b->config.n_layers, last = n_layers - 1;
    if (b->options.fault == FAULT_SKIPPED_LAYER && b->options.fault_arg == last) last--;
    for (int32_t i = 0; i < n_layers; i++) {
        if (b->options.fault == FAULT_SKIPPED_LAYER && b->options.fault_arg == i) continue;
        s.layer = &b->weights.layers[i];
        s.layer_keys = b->keys + (size_t)i * b->layer_kv;
        s.layer_values = b->values + (size_t)i * b->layer_kv;
        attend(&s, i == last ? b->last_spans : NULL, wanted);
        if (s.rows == 0) return; /* no logits are wanted: the last cache entry was the last work */
        feed_forward(&s);
    }
    norm(&s, b->weights.final_norm);
    struct matmul head = times(&s, b->normed);
    matmul(&head, &(struct linear){&b->weights.head, NULL, logits, b->config.vocab_size, false}, 1);
}

static void over_rows(struct step *s, pool_fn *fn) {
    pool_run(s->b->pool, fn, s, (s->rows + TOKENS_PER_ITEM - 1) / TOKENS_PER_ITEM);
}
static int32_t item_end(const struct step *s, int32_t item) {
    int32_t end = (item + 1) * TOKENS_PER_ITEM;
    return end < s->rows ? end : s->rows;
}

/* ---- single rows ----------------------------------------------------------------------------- */

static void embed(const struct weight *w, int32_t token, float *out) {
    if (w->packed)
        packed_row(&w->stored, w->packed, token, out);
    else
        dequant_row(&w->stored, token, out);
}

static void embed_rows(void *ctx, int32_t item, int32_t thread) {
    struct step *s = ctx;
    struct cpu_backend *b = s->b;
    (void)thread;
    for (int32_t t = item * TOKENS_PER_ITEM; t < item_end(s, item); t++) {
        embed(&b->weights.embedding, b->token[t], b->x + (size_t)t * (size_t)b->d_stride);
        size_t at = (size_t)t * (size_t)(b->config.head_dim / 2);
        ops_rope_angles(b->cosines + at, b->sines + at, b->frequency, b->config.head_dim / 2,
                        b->position[t]);
        if (b->q_cosines != b->cosines)
            ops_rope_angles(b->q_cosines + at, b->q_sines + at, b->frequency,
                            b->config.head_dim / 2, b->position[t] + 1);
    }
}

static void norm_rows(void *ctx, int32_t item, int32_t thread) {
    struct step *s = ctx;
    struct cpu_backend *b = s->b;
    (void)thread;
    for (int32_t t = item * TOKENS_PER_ITEM; t < item_end(s, item); t++) {
        size_t at = (size_t)t * (size_t)b->d_stride;
        ops_rmsnorm(b->normed + at, b->x + at, s->norm_weight, b->config.d_model,
                    b->config.rms_eps);
    }
}

static void norm(struct step *s, const float *weight) {
    s->norm_weight = weight;
    over_rows(s, norm_rows);
}

/* One scale for a head's values, codes -127 .. 127 (cuda/paged.cuh). */
static void round_to_int8(float *x, int32_t n) {
    float most = 0;
    for (int32_t i = 0; i < n; i++) most = fmaxf(most, fabsf(x[i]));
    float step = most / 127;
    for (int32_t i = 0; step > 0 && i < n; i++) x[i] = rintf(x[i] / step) * step;
}

/* Turns queries and keys, and puts keys and values into their slots of the cache. */
static void rotate_and_cache_rows(void *ctx, int32_t item, int32_t thread) {
    struct step *s = ctx;
    struct cpu_backend *b = s->b;
    const struct model_config *c = &b->config;
    size_t head_block = attention_head_block(&b->shape), half = (size_t)c->head_dim / 2;
    (void)thread;
    for (int32_t t = item * TOKENS_PER_ITEM; t < item_end(s, item); t++) {
        float *q = b->q + (size_t)t * (size_t)b->q_stride;
        for (int32_t h = 0; h < c->n_heads; h++)
            ops_rope(q + h * c->head_dim, c->head_dim, b->rope, b->q_cosines + (size_t)t * half,
                     b->q_sines + (size_t)t * half);
        for (int32_t h = 0; h < c->n_kv_heads; h++) {
            float *k = b->k + (size_t)t * (size_t)b->kv_stride + h * c->head_dim;
            float *v = b->v + (size_t)t * (size_t)b->kv_stride + h * c->head_dim;
            ops_rope(k, c->head_dim, b->rope, b->cosines + (size_t)t * half,
                     b->sines + (size_t)t * half);
            if (b->options.kv == KV_INT8) {
                round_to_int8(k, c->head_dim);
                round_to_int8(v, c->head_dim);
            }
            size_t at = (size_t)(b->slot[t] / KV_BLOCK_TOKENS) * (size_t)c->n_kv_heads + (size_t)h;
            attention_put(&b->shape, s->layer_keys + at * head_block,
                          s->layer_values + at * head_block, b->slot[t] % KV_BLOCK_TOKENS, k, v);
        }
    }
}

/* ---- a layer --------------------------------------------------------------------------------- */

static struct matmul times(const struct step *s, const float *x) {
    return (struct matmul){s->b->pool, s->b->scratch, x, s->rows};
}

static void attend(struct step *s, const struct attention_span *last, int32_t n_last) {
    struct cpu_backend *b = s->b;
    const struct cpu_layer *y = s->layer;
    norm(s, y->attn_norm);
    struct matmul in = times(s, b->normed);
    matmul(&in,
           (struct linear[]){{&y->wq, y->bq, b->q, b->q_stride, false},
                             {&y->wk, y->bk, b->k, b->kv_stride, false},
                             {&y->wv, y->bv, b->v, b->kv_stride, false}},
           3);
    over_rows(s, rotate_and_cache_rows);
    if (last) { /* keep only the rows whose logits are wanted, moved to the front */
        for (int32_t i = 0; i < n_last; i++) {
            size_t from = (size_t)b->last_row[i];
            memmove(b->x + (size_t)i * (size_t)b->d_stride, b->x + from * (size_t)b->d_stride,
                    (size_t)b->config.d_model * sizeof(float));
            memmove(b->q + (size_t)i * (size_t)b->q_stride, b->q + from * (size_t)b->q_stride,
                    (size_t)(b->config.n_heads * b->config.head_dim) * sizeof(float));
        }
        s->rows = n_last;
        attention_plan(b->attention, last, n_last);
    }
    if (s->rows == 0) return;
    attention_run(b->attention, b->pool, b->q, b->q_stride, s->layer_keys, s->layer_values,
                  y->window, b->mixed, b->q_stride);
    struct matmul out = times(s, b->mixed);
    matmul(&out, &(struct linear){&y->wo, NULL, b->x, b->d_stride, true}, 1);
}

static void feed_forward(struct step *s) {
    struct cpu_backend *b = s->b;
    const struct cpu_layer *y = s->layer;
    norm(s, y->ffn_norm);
    struct matmul in = times(s, b->normed);
    matmul_swiglu(&in, &y->w_gate, &y->w_up, b->hidden, b->ffn_stride);
    struct matmul out = times(s, b->hidden);
    matmul(&out, &(struct linear){&y->w_down, NULL, b->x, b->d_stride, true}, 1);
}
