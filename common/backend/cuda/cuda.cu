/* cuda.cu: creates and frees the CUDA backend. See cuda.h. Not here: the computation (forward.cu).
 */
#include "backend/cuda/state.cuh"

extern "C" {
#include "sched/policy.h"
}

#include <stdlib.h>
#include <string.h>

enum { MAX_GRID = 65535 }; /* blocks in the second and third direction */
enum { DEFAULT_STEP_TOKENS = 512, ALIGN_WORDS = 64 /* 256 bytes: every tensor starts there */ };

static void destroy(struct backend *base) {
    struct cuda_backend *b = (struct cuda_backend *)base;
    device_close(b);
    free(b->layers);
    free(b->first_row);
    free(b);
}

static const struct backend_ops ops = {forward_step, destroy};

/* What lab 03's kernels ask of a model's shape (kernels.h). */
static int check_model(const struct cuda_backend *b, struct err *e) {
    const struct model_config *m = &b->config;
    if (b->heads.head > KERNEL_MAX_HEAD_DIM || m->head_dim % 2)
        return err_set(e, "heads of %d values; even widths up to %d are possible", m->head_dim,
                       KERNEL_MAX_HEAD_DIM);
    if (m->d_model > KERNEL_MAX_NORM || m->d_model % 8 || m->d_ffn % 8)
        return err_set(e,
                       "a model of width %d with %d hidden values; multiples of 8 are possible, "
                       "the width up to %d",
                       m->d_model, m->d_ffn, KERNEL_MAX_NORM);
    if (m->n_heads / m->n_kv_heads > 32)
        return err_set(e, "%d query heads a KV head; up to 32 are possible",
                       m->n_heads / m->n_kv_heads);
    return 0;
}

static struct heads heads_of(const struct model_config *m, bool exact) {
    struct heads h;
    h.head_dim = m->head_dim;
    h.parts = exact && 2 * m->head_dim <= KERNEL_MAX_HEAD_DIM ? 2 : 1;
    h.pad = (m->head_dim * h.parts + 15) / 16 * 16 / h.parts;
    h.head = h.parts * h.pad;
    h.q = m->n_heads;
    h.kv = m->n_kv_heads;
    return h;
}

static int choose_limits(struct cuda_backend *b, const struct backend_config *c,
                         const struct backend_cuda_options *o, struct err *e) {
    struct backend_info *i = &b->base.info;
    b->config = c->model->config;
    b->exact = o->precision == CUDA_EXACT;
    b->weights = o->weights;
    b->timed = o->machine == CUDA_GPU;
    b->heads = heads_of(&b->config, b->exact);
    i->name = o->machine == CUDA_GPU ? "cuda" : "simt";
    i->precision = b->exact ? "exact" : "bf16";
    b->kv = o->kv;
    bool int8 = b->kv == CUDA_KV_INT8;
    if (b->weights != CUDA_WEIGHTS_STORED && b->exact)
        return err_set(e, "quantised weights are of bf16 precision, not of exact");
    if (int8 && b->exact)
        return err_set(e, "the cache of 8 bits is of bf16 precision, not of exact");
    i->kv_type = int8 ? "int8" : b->heads.parts == 2 ? "bf16x2" : "bf16";
    int64_t of_head =
        int8 ? b->heads.head + (int64_t)sizeof(float) : b->heads.head * (int64_t)sizeof(bf16);
    i->kv_bytes_per_token = 2 * of_head * b->config.n_layers * b->heads.kv;
    TRY(check_model(b, e));
    TRY(backend_choose_limits(i, c, DEFAULT_STEP_TOKENS, e));
    b->table_blocks =
        (policy_blocks_for(i->max_seq_tokens) + ALIGN_WORDS - 1) / ALIGN_WORDS * ALIGN_WORDS;
    return 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Cleared, as the kernels ask. */
static int take_cleared(struct cuda_backend *b, void **p, size_t bytes, struct err *e) {
    TRY(memory_take(b, OF_KV, p, (int64_t)bytes, e));
    if (b->memory.allocate) CUDA_TRY(cudaMemsetAsync(*p, 0, bytes, b->stream));
    return 0;
}

static int take_pool(struct cuda_backend *b, struct err *e) {
    const struct heads *h = &b->heads;
    size_t rows = (size_t)b->base.info.kv_blocks * h->kv * KV_BLOCK_TOKENS;
    size_t all = rows * b->config.n_layers;
    bool int8 = b->kv == CUDA_KV_INT8;
    b->layer_kv = rows * h->head;
    for (int values = 0; values < 2; values++) {
        TRY(take_cleared(b, values ? &b->values : &b->keys,
                         all * h->head * (int8 ? 1 : sizeof(bf16)), e));
        if (int8)
            TRY(take_cleared(b, (void **)(values ? &b->value_scales : &b->key_scales),
                             all * sizeof(float), e));
    }
    return 0;
}

static int take_rows(struct cuda_backend *b, float **p, int64_t rows, int64_t cols, struct err *e) {
    return memory_take(b, OF_WORKSPACE, (void **)p, rows * cols * (int64_t)sizeof **p, e);
}

static int take_partials(struct cuda_backend *b, struct err *e) {
    /* sequences times splits of any decode step; with attention_paged for prompts, their rows too
     */
    int64_t most = 0;
    if (b->exact && b->config.window) most = (int64_t)b->base.info.max_step_tokens * b->heads.q;
    if (most > 0 && b->base.info.max_step_tokens > MAX_GRID)
        return err_at(e, 0, "max_step_tokens", "is %d; %d rows can be started at once",
                      b->base.info.max_step_tokens, MAX_GRID);
    for (int32_t n = 1; n <= b->base.info.max_seqs; n++) {
        int64_t parts = (int64_t)n * forward_splits(b, n) * b->heads.q;
        if (parts > most) most = parts;
    }
    TRY(take_rows(b, &b->partial, most, b->heads.head, e));
    TRY(take_rows(b, &b->split_max, most, 1, e));
    return take_rows(b, &b->split_sum, most, 1, e);
}

static void carve_inputs(struct inputs *in, int32_t *at, int32_t tokens, int32_t logits,
                         int32_t seqs) {
    in->token = at;
    in->position = in->token + tokens;
    in->slot = in->position + tokens;
    in->wanted = in->slot + tokens;
    in->length = in->wanted + logits;
    in->table = in->length + seqs;
}

/* The step's numbers, in pinned memory and on the device. */
static int take_inputs(struct cuda_backend *b, struct err *e) {
    const struct backend_info *i = &b->base.info;
    int32_t tokens = (i->max_step_tokens + ALIGN_WORDS - 1) / ALIGN_WORDS * ALIGN_WORDS;
    int32_t seqs = (i->max_seqs + ALIGN_WORDS - 1) / ALIGN_WORDS * ALIGN_WORDS;
    int32_t logits = (backend_max_logits(i) + ALIGN_WORDS - 1) / ALIGN_WORDS * ALIGN_WORDS;
    b->input_words = 3 * tokens + logits + seqs;
    size_t bytes =
        ((size_t)b->input_words + (size_t)i->max_seqs * b->table_blocks) * sizeof(int32_t);
    void *device, *host;
    TRY(memory_take(b, OF_WORKSPACE, &device, (int64_t)bytes, e));
    if (!b->memory.allocate) return 0;
    CUDA_TRY(cudaMallocHost(&host, bytes));
    memset(host, 0, bytes);
    carve_inputs(&b->in, (int32_t *)device, tokens, logits, seqs);
    carve_inputs(&b->host_in, (int32_t *)host, tokens, logits, seqs);
    b->first_row = (int32_t *)calloc((size_t)i->max_seqs, sizeof *b->first_row);
    return b->first_row ? 0 : err_set(e, "out of memory");
}

static int take_workspace(struct cuda_backend *b, struct err *e) {
    const struct backend_info *i = &b->base.info;
    const struct model_config *c = &b->config;
    int64_t rows = i->max_step_tokens, q = (int64_t)b->heads.q * b->heads.head;
    int64_t kv = (int64_t)b->heads.kv * b->heads.head, widest = c->d_model;
    if (c->d_ffn > widest) widest = c->d_ffn;
    if (q > widest) widest = q;
    int64_t row = widest > 2 * (int64_t)c->d_ffn ? widest : 2 * (int64_t)c->d_ffn;
    if (rows > INT32_MAX / row) /* the kernels count a matrix' elements in 32 bits */
        return err_at(e, 0, "max_step_tokens",
                      "%lld tokens of %lld numbers each are more than %d in one matrix; lower it",
                      (long long)rows, (long long)row, INT32_MAX);
    if (backend_max_logits(i) > INT32_MAX / c->vocab_size)
        return err_at(e, 0, "max_seqs", "logits of %d tokens are more than %d numbers; lower it",
                      backend_max_logits(i), INT32_MAX);
    TRY(take_rows(b, &b->residual, rows, c->d_model, e));
    TRY(take_rows(b, &b->delta, rows, c->d_model, e));
    TRY(take_rows(b, &b->normed, rows, c->d_model, e));
    TRY(take_rows(b, &b->q, rows, q, e));
    TRY(take_rows(b, &b->k, rows, kv, e));
    TRY(take_rows(b, &b->v, rows, kv, e));
    TRY(take_rows(b, &b->mixed, rows, q, e));
    TRY(take_rows(b, &b->gate_up, rows, 2 * (int64_t)c->d_ffn, e));
    TRY(take_rows(b, &b->hidden, rows, c->d_ffn, e));
    int64_t pieces = b->exact ? MOST_PIECES : 1;
    TRY(memory_take(b, OF_WORKSPACE, (void **)&b->rounded, pieces * rows * widest * 2, e));
    if (b->tile_values > 0)
        TRY(memory_take(b, OF_WORKSPACE, (void **)&b->tile, b->tile_values * 2, e));
    TRY(take_partials(b, e));
    TRY(take_rows(b, &b->last, backend_max_logits(i), c->d_model, e));
    TRY(take_rows(b, &b->logits, backend_max_logits(i), c->vocab_size, e));
    TRY(take_inputs(b, e));
    TRY(choose_take(b, e));
    return device_blas_space(b, e);
}

static int take_all(struct cuda_backend *b, const struct model *m, struct err *e) {
    TRY(weights_take(b, m, e));
    TRY(take_pool(b, e));
    return take_workspace(b, e);
}

/* ---- the interface --------------------------------------------------------------------------- */

static int init(struct cuda_backend *b, const struct backend_config *c,
                const struct backend_cuda_options *o, struct err *e) {
    TRY(choose_limits(b, c, o, e));
    b->layers = (struct cuda_layer *)calloc((size_t)b->config.n_layers, sizeof *b->layers);
    if (!b->layers) return err_set(e, "out of memory for %d layers", b->config.n_layers);
    TRY(device_open(b, e));
    TRY(take_all(b, c->model, e));
    TRY(device_plan(b, !c->kv_blocks && !c->kv_bytes, o->say, e));
    b->memory.allocate = true;
    TRY(take_all(b, c->model, e));
    b->decode = (cudaGraphExec_t *)calloc((size_t)b->base.info.max_seqs + 1, sizeof *b->decode);
    if (!b->decode) return err_set(e, "out of memory");
    b->base.info.weight_bytes = b->memory.bytes[OF_WEIGHTS];
    return weights_load(b, c->model, o->say, e);
}

extern "C" __attribute__((visibility("default"))) uint64_t servelab_cuda_abi(void) {
    return CUDA_PLUGIN_ABI;
}

extern "C" __attribute__((visibility("default"))) struct backend *
servelab_cuda_create(const struct backend_config *c, const struct backend_cuda_options *o,
                     struct err *e) {
    struct cuda_backend *b = (struct cuda_backend *)calloc(1, sizeof *b);
    if (!b) {
        err_set(e, "out of memory");
        return NULL;
    }
    b->base.ops = &ops;
    b->base.step_choosing = forward_step_choosing;
    if (init(b, c, o, e)) {
        destroy(&b->base);
        return NULL;
    }
    return &b->base;
}
