/* forward.cu: one step through a Llama-family decoder, in the order of the formulas:
 *
 *   x = embedding[token]
 *   for each layer:
 *     n = rmsnorm(x);   q, k, v = Wq n + bq, Wk n + bk, Wv n + bv;   rotate q, k;   cache k, v
 *     x = x + Wo attention(q, cache)
 *     n = rmsnorm(x);   x = x + Wdown (silu(Wgate n) * (Wup n))
 *   logits = Whead rmsnorm(x)
 *
 * x is kept as residual + delta: a product leaves its result in delta, and the next rmsnorm adds
 * it. The step's tokens are the rows of one matrix, first those of sequences with one new token,
 * whose keys one launch divides among blocks of threads; then each prompt's, with a launch of its
 * own. Everything goes to one stream, in order; the host waits once, for the logits. A step in
 * which every sequence decodes differs from the last one of so many sequences only in its numbers,
 * which lie in the same memory: so it is captured once, as a graph, and launched as a whole.
 */
#include "backend/cuda/extra.cuh"
#include "backend/cuda/paged.cuh"
#include "backend/cuda/prompt.cuh"
#include "backend/cuda/quant.cuh"
#include "backend/cuda/start.cuh"

extern "C" {
#include "sched/policy.h"
}

#include <math.h>
#include <nvtx3/nvToolsExt.h>
#include <string.h>

struct step {
    int32_t rows, singles, wanted; /* rows; those of sequences with one; rows with logits */
    const struct backend_batch *batch;
    const float *x; /* input of the next products */
};

static int send(struct cuda_backend *b, struct step *s, struct err *e);
static int embed(struct cuda_backend *b, const struct step *s, struct err *e);
static int attend(struct cuda_backend *b, struct step *s, int32_t layer, struct err *e);
static int feed_forward(struct cuda_backend *b, struct step *s, int32_t layer, struct err *e);
static int read_out(struct cuda_backend *b, struct step *s, struct err *e);
static int replay(struct cuda_backend *b, struct step *s, struct err *e);

static int compute(struct cuda_backend *b, struct step *s, struct err *e) {
    TRY(embed(b, s, e));
    for (int32_t i = 0; i < b->config.n_layers; i++) {
        TRY(attend(b, s, i, e));
        TRY(feed_forward(b, s, i, e));
    }
    return read_out(b, s, e);
}

static int run(struct cuda_backend *b, const struct backend_batch *batch,
               struct backend_choice *choices, float *logits, struct err *e) {
    struct step s = {0, 0, 0, batch, NULL};
    TRY(send(b, &s, e));
    bool decodes = s.singles == s.rows && s.wanted == s.rows;
    CUDA_TRY(cudaEventRecord(b->started, b->stream));
    nvtxRangePushA(decodes ? "decode" : "prefill"); /* as the record's ranges are called */
    int failed = decodes ? replay(b, &s, e) : compute(b, &s, e);
    nvtxRangePop();
    if (failed) return -1;
    CUDA_TRY(cudaEventRecord(b->ended, b->stream));
    TRY(choose_tokens(b, s.wanted, choices, logits, e));
    return device_time(b, e);
}

/* A decode step as one launch, captured the first time that so many sequences decode. */
static int replay(struct cuda_backend *b, struct step *s, struct err *e) {
    cudaGraphExec_t *exec = &b->decode[s->rows];
    cudaGraph_t graph = NULL;
    if (!*exec) {
        CUDA_TRY(cudaStreamBeginCapture(b->stream, cudaStreamCaptureModeThreadLocal));
        int failed = compute(b, s, e);
        cudaError_t ended = cudaStreamEndCapture(b->stream, &graph); /* in any case */
        if (!failed && ended == cudaSuccess) ended = cudaGraphInstantiate(exec, graph, 0);
        if (graph) cudaGraphDestroy(graph);
        if (failed) return -1;
        if (ended != cudaSuccess) return cuda_failed(e, ended, "the capture of a decode step");
    }
    CUDA_TRY(cudaGraphLaunch(*exec, b->stream));
    return 0;
}

int forward_step(struct backend *base, const struct backend_batch *batch, float *logits,
                 struct err *e) {
    return forward_step_choosing(base, batch, NULL, logits, e);
}

int forward_step_choosing(struct backend *base, const struct backend_batch *batch,
                          struct backend_choice *choices, float *logits, struct err *e) {
    struct cuda_backend *b = (struct cuda_backend *)base;
    if (base->lost) return err_set(e, "%s", base->lost);
    TRY(backend_check_batch(&base->info, batch, e));
    if (!run(b, batch, choices, logits, e)) return 0;
    base->device_start_ns = base->device_end_ns;
    /* Nothing of the step may run on; an error that stays ends the backend. */
    cudaGetLastError();
    if (cudaStreamSynchronize(b->stream) != cudaSuccess) {
        snprintf(b->lost, sizeof b->lost, "%s", e->text);
        base->lost = b->lost;
    }
    return -1;
}

/* ---- the batch as flat lists ----------------------------------------------------------------- */

static void place(struct cuda_backend *b, struct step *s, int32_t seq, int32_t *first_row) {
    const struct backend_seq *q = &s->batch->seqs[seq];
    const struct inputs *in = &b->host_in;
    *first_row = s->rows;
    for (int32_t j = 0; j < q->n_tokens; j++, s->rows++) {
        int32_t pos = q->pos0 + j;
        in->token[s->rows] = q->tokens[j];
        in->position[s->rows] = pos;
        in->slot[s->rows] =
            q->block_table[pos / KV_BLOCK_TOKENS] * KV_BLOCK_TOKENS + pos % KV_BLOCK_TOKENS;
    }
}

/* Lays the batch out in pinned memory, and sends it. */
static int send(struct cuda_backend *b, struct step *s, struct err *e) {
    const struct inputs *in = &b->host_in;
    int32_t table = 0;
    for (int prompts = 0; prompts < 2; prompts++)
        for (int32_t i = 0; i < s->batch->n_seqs; i++) {
            const struct backend_seq *q = &s->batch->seqs[i];
            if ((q->n_tokens > 1) != prompts) continue;
            if (!prompts) in->length[s->singles++] = q->pos0 + 1;
            int32_t *row = in->table + (size_t)table++ * b->table_blocks;
            memcpy(row, q->block_table,
                   (size_t)policy_blocks_for(q->pos0 + q->n_tokens) * sizeof *row);
            place(b, s, i, &b->first_row[i]);
        }
    for (int32_t i = 0; i < s->batch->n_seqs; i++) {
        const struct backend_seq *q = &s->batch->seqs[i];
        for (int32_t k = q->want_logits; k > 0; k--)
            in->wanted[s->wanted++] = b->first_row[i] + q->n_tokens - k;
    }
    size_t words = (size_t)b->input_words + (size_t)table * b->table_blocks;
    CUDA_TRY(cudaMemcpyAsync(b->in.token, in->token, words * sizeof *in->token,
                             cudaMemcpyHostToDevice, b->stream));
    return 0;
}

/* ---- products -------------------------------------------------------------------------------- */

/* Makes x (s->rows, cols) the input of the products that follow; rounds it where they take bf16, or
 * splits it. */
static int set_input(struct cuda_backend *b, struct step *s, const float *x, int32_t cols,
                     struct err *e) {
    s->x = x;
    if (!b->exact && s->rows == 1) return 0;
    int32_t n = s->rows * cols;
    START_FLAT(split_bf16, n / 4, b->rounded, x, n, b->exact ? MOST_PIECES : 1);
    return 0;
}

/* y = W x, or with beta 1, y += W x. cuBLAS counts columns first: there it is y^T = W x^T. */
static int multiply(struct cuda_backend *b, const struct step *s, const struct matrix *w,
                    const bf16 *data, const bf16 *x, int32_t rows, float beta, float *y,
                    struct err *e) {
    const float one = 1;
    BLAS_TRY(cublasGemmEx(b->blas, CUBLAS_OP_T, CUBLAS_OP_N, rows, s->rows, w->cols, &one, data,
                          CUDA_R_16BF, w->cols, x, CUDA_R_16BF, w->cols, &beta, y, CUDA_R_32F,
                          w->rows, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    return 0;
}

/* Columns first .. first + rows - 1 of y, from these rows of W. With pieces, piece i of W times
 * piece j of x is about 2^-8 (i + j) of the whole; those with i + j > 2 are below a float's last
 * bit. The smallest are added first. */
static int product_rows(struct cuda_backend *b, const struct step *s, const struct matrix *w,
                        const void *data, int32_t first, int32_t rows, float *y, struct err *e) {
    size_t of_w = (size_t)w->rows * w->cols, of_x = (size_t)s->rows * w->cols;
    float beta = 0;
    for (int32_t both = b->exact ? MOST_PIECES - 1 : 0; both >= 0; both--)
        for (int32_t i = both < w->pieces ? both : w->pieces - 1; i >= 0; i--, beta = 1)
            TRY(multiply(b, s, w, (const bf16 *)data + i * of_w, b->rounded + (both - i) * of_x,
                         rows, beta, y + first, e));
    return 0;
}

/* A few rows read the weights once, as they are; more of them pay for a copy in bf16, made a tile
 * of rows at a time. */
static int product_quantised(struct cuda_backend *b, const struct step *s, const struct matrix *w,
                             float *y, struct err *e) {
    if (s->rows <= QUANT_ROWS) {
        START_FLAT(gemv_quant, ((int64_t)w->rows + 3) / 4 * 32, y, w->data, w->scales, s->x,
                   s->rows, w->rows, w->cols, w->type);
        return 0;
    }
    int32_t most = (int32_t)(b->tile_values / w->cols);
    for (int32_t first = 0; first < w->rows; first += most) {
        int32_t rows = w->rows - first < most ? w->rows - first : most;
        START_FLAT(widen_tile, (int64_t)rows * w->cols / 4, b->tile, w->data, w->scales, first,
                   rows, w->cols, w->type);
        TRY(product_rows(b, s, w, b->tile, first, rows, y, e));
    }
    return 0;
}

/* y = x W^T, (s->rows, W's rows). One row is left to gemv, which reads every weight once and does
 * not round x; where W is one piece, that is exact. */
static int product(struct cuda_backend *b, const struct step *s, const struct matrix *w, float *y,
                   struct err *e) {
    if (is_quantised(w)) return product_quantised(b, s, w, y, e);
    if (w->pieces == 1 && s->rows == 1) {
        START(gemv, y, (const bf16 *)w->data, s->x, w->rows, w->cols);
        return 0;
    }
    return product_rows(b, s, w, w->data, 0, w->rows, y, e);
}

static int product_plus(struct cuda_backend *b, const struct step *s, const struct matrix *w,
                        const float *bias, float *y, struct err *e) {
    TRY(product(b, s, w, y, e));
    if (bias) START_FLAT(add_bias, s->rows * (int64_t)w->rows / 4, y, bias, s->rows, w->rows);
    return 0;
}

/* ---- the parts of the formulas --------------------------------------------------------------- */

static int embed(struct cuda_backend *b, const struct step *s, struct err *e) {
    int32_t d = b->config.d_model;
    if (is_quantised(&b->embedding))
        START_FLAT(embedding_quant, (int64_t)s->rows * d / 4, b->residual, b->embedding.data,
                   b->embedding.scales, b->in.token, s->rows, d, b->embedding.type);
    else
        START(embedding, b->residual, (const bf16 *)b->embedding.data, b->in.token, s->rows, d);
    if (b->embedding.pieces > 1) /* the first two pieces: 16 bits */
        START(embedding, b->delta, (const bf16 *)b->embedding.data + (size_t)b->embedding.rows * d,
              b->in.token, s->rows, d);
    else
        CUDA_TRY(cudaMemsetAsync(b->delta, 0, (size_t)s->rows * d * sizeof(float), b->stream));
    return 0;
}

static int norm(struct cuda_backend *b, const struct step *s, const float *weight, struct err *e) {
    START(rmsnorm, b->normed, b->residual, b->delta, weight, s->rows, b->config.d_model,
          b->config.rms_eps);
    return 0;
}

/* A layer's cache, and how it is seen. */
struct cache {
    void *keys, *values;
    float *key_scales, *value_scales; /* NULL: bf16 */
    int32_t window;
    float scale; /* of the scores */
};

static struct cache cache_of(const struct cuda_backend *b, int32_t layer) {
    const struct heads *h = &b->heads;
    double magnitude = b->config.yarn_magnitude != 0 ? (double)b->config.yarn_magnitude : 1;
    size_t at = (size_t)layer * b->layer_kv, rows = at / (size_t)h->head;
    bool int8 = b->kv == CUDA_KV_INT8;
    size_t bytes = at * (int8 ? 1 : sizeof(bf16));
    struct cache c = {(char *)b->keys + bytes,
                      (char *)b->values + bytes,
                      int8 ? b->key_scales + rows : NULL,
                      int8 ? b->value_scales + rows : NULL,
                      b->layers[layer].window,
                      (float)(magnitude * magnitude / sqrt((double)h->head_dim))};
    return c;
}

/* Rows that follow each other in the step, with our own kernel: those of sequences with one row
 * each, at table + i * stride, or of one prompt. */
static int attention_rows(struct cuda_backend *b, const struct cache *c, int32_t first,
                          int32_t rows, const int32_t *table, int32_t stride, int32_t splits,
                          struct err *e) {
    const struct heads *h = &b->heads;
    size_t at = (size_t)first * h->q * h->head;
    struct launch_shape shape = {{(uint32_t)splits, (uint32_t)h->kv, (uint32_t)rows},
                                 {(uint32_t)(h->q / h->kv * 32), 1, 1},
                                 (uint32_t)(2 * KV_BLOCK_TOKENS * h->head * sizeof(float))};
    TRY(start_shaped(b, "attention_paged", attention_paged, shape, e, b->partial, b->split_max,
                     b->split_sum, b->q + at, c->keys, c->values, c->key_scales, c->value_scales,
                     table, stride, b->in.position + first, h->q, h->kv, h->head, c->window,
                     c->scale));
    START(attention_merge, b->mixed + at, b->partial, b->split_max, b->split_sum, rows, h->q,
          h->head, splits);
    return 0;
}

/* The rows of one prompt. A learner's attention_prefill is used where it can be. */
static int attention_of_prompt(struct cuda_backend *b, const struct cache *c, int32_t first,
                               const struct backend_seq *q, const int32_t *table, struct err *e) {
    const struct heads *h = &b->heads;
    size_t at = (size_t)first * h->q * h->head;
    bool special = c->key_scales || c->window;
    if (!b->exact && (special || !start_is_mine("attention_prefill"))) {
        uint32_t tiles = (uint32_t)((q->n_tokens + PROMPT_QUERIES - 1) / PROMPT_QUERIES);
        struct launch_shape shape = {{(uint32_t)h->q, tiles, 1}, {PROMPT_THREADS, 1, 1}, 0};
        return start_shaped(b, "attention_prompt", attention_prompt, shape, e, b->mixed + at,
                            b->q + at, c->keys, c->values, c->key_scales, c->value_scales, table,
                            q->pos0, q->n_tokens, h->q, h->kv, h->head, c->window, c->scale);
    }
    if (special) return attention_rows(b, c, first, q->n_tokens, table, 0, 1, e);
    START(attention_prefill, b->mixed + at, b->q + at, (const bf16 *)c->keys,
          (const bf16 *)c->values, table, q->pos0, q->n_tokens, h->q, h->kv, h->head, c->scale);
    return 0;
}

/* Over the layer's cache: the singles together, then each prompt. */
static int attention(struct cuda_backend *b, const struct step *s, const struct cache *c,
                     struct err *e) {
    const struct heads *h = &b->heads;
    int32_t splits = s->singles > 0 ? forward_splits(b, s->singles) : 0;
    if (s->singles > 0 && (c->key_scales || c->window)) {
        TRY(attention_rows(b, c, 0, s->singles, b->in.table, b->table_blocks, splits, e));
    } else if (s->singles > 0) {
        START(attention_decode, b->partial, b->split_max, b->split_sum, b->q, (const bf16 *)c->keys,
              (const bf16 *)c->values, b->in.table, b->in.length, s->singles, b->table_blocks, h->q,
              h->kv, h->head, splits, c->scale);
        START(attention_merge, b->mixed, b->partial, b->split_max, b->split_sum, s->singles, h->q,
              h->head, splits);
    }
    int32_t row = s->singles;
    for (int32_t i = 0; i < s->batch->n_seqs; i++) {
        const struct backend_seq *q = &s->batch->seqs[i];
        if (q->n_tokens == 1) continue;
        const int32_t *table = b->in.table + (size_t)row++ * b->table_blocks;
        TRY(attention_of_prompt(b, c, b->first_row[i], q, table, e));
    }
    return 0;
}

/* Turns queries and keys, and caches keys and values. */
static int rotate(struct cuda_backend *b, const struct step *s, const struct cache *c,
                  struct err *e) {
    const struct heads *h = &b->heads;
    bf16 *keys = (bf16 *)c->keys, *values = (bf16 *)c->values;
    if (c->key_scales)
        START_FLAT(rope_int8, (int64_t)s->rows * (h->q + h->kv) * 32, b->q, (int8_t *)c->keys,
                   (int8_t *)c->values, c->key_scales, c->value_scales, b->k, b->v, b->cosines,
                   b->sines, b->in.position, b->in.slot, s->rows, h->q, h->kv, h->head);
    else if (h->parts == 2)
        START_FLAT(rope_split, (int64_t)s->rows * (h->q + h->kv) * h->head / 8, b->q, keys, values,
                   b->k, b->v, b->cosines, b->sines, b->in.position, b->in.slot, s->rows, h->q,
                   h->kv, h->head);
    else
        START(rope, b->q, keys, values, b->k, b->v, b->cosines, b->sines, b->in.position,
              b->in.slot, s->rows, h->q, h->kv, h->head);
    return 0;
}

static int attend(struct cuda_backend *b, struct step *s, int32_t layer, struct err *e) {
    const struct cuda_layer *w = &b->layers[layer];
    const struct cache cache = cache_of(b, layer);
    TRY(norm(b, s, w->attn_norm, e));
    TRY(set_input(b, s, b->normed, b->config.d_model, e));
    TRY(product_plus(b, s, &w->wq, w->bq, b->q, e));
    TRY(product_plus(b, s, &w->wk, w->bk, b->k, e));
    TRY(product_plus(b, s, &w->wv, w->bv, b->v, e));
    TRY(rotate(b, s, &cache, e));
    TRY(attention(b, s, &cache, e));
    TRY(set_input(b, s, b->mixed, b->heads.q * b->heads.head, e));
    return product(b, s, &w->wo, b->delta, e);
}

static int feed_forward(struct cuda_backend *b, struct step *s, int32_t layer, struct err *e) {
    const struct cuda_layer *w = &b->layers[layer];
    TRY(norm(b, s, w->ffn_norm, e));
    TRY(set_input(b, s, b->normed, b->config.d_model, e));
    TRY(product(b, s, &w->gate_up, b->gate_up, e));
    START(swiglu, b->hidden, b->gate_up, s->rows, b->config.d_ffn);
    TRY(set_input(b, s, b->hidden, b->config.d_ffn, e));
    return product(b, s, &w->down, b->delta, e);
}

/* The logits of the wanted rows. */
static int read_out(struct cuda_backend *b, struct step *s, struct err *e) {
    int32_t d = b->config.d_model;
    if (s->wanted == 0) return 0;
    TRY(norm(b, s, b->final_norm, e));
    START_FLAT(gather, (int64_t)s->wanted * d / 4, b->last, b->normed, b->in.wanted, s->wanted, d);
    s->rows = s->wanted;
    TRY(set_input(b, s, b->last, d, e));
    return product(b, s, &b->head, b->logits, e);
}

int32_t forward_splits(const struct cuda_backend *b, int32_t seqs) {
    enum { BLOCKS = 2 * 132, MOST = 16 }; /* two a processor of an H100; the merge stays small */
    int32_t splits = BLOCKS / (seqs * b->heads.kv);
    return splits < 1 ? 1 : splits > MOST ? MOST : splits;
}
