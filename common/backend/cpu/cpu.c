/* cpu.c: creates and frees the native backend. See cpu.h and backend.h. Not here: the computation
 * (forward.c), the checks of limits and batches (limits.c). */
#include "backend/cpu/state.h"

#include "backend/cpu/ops.h"
#include "sched/policy.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    /* Pieces of 512 tokens cost no more than pieces of 128 and less than one of 2,048, whose
     * activations leave the cache (SPEED.md), and let a server handle progress, cancels and other
     * requests several times a second. */
    DEFAULT_STEP_TOKENS = 512
};

/* ---- limits ---------------------------------------------------------------------------------- */

static int32_t cores(void) {
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < 1 ? 1 : n > POOL_MAX_THREADS ? POOL_MAX_THREADS : n;
}

static int choose_limits(struct cpu_backend *b, const struct backend_config *c, struct err *e) {
    struct backend_info *i = &b->base.info;
    const struct model_config *m = &c->model->config;
    i->name = "cpu";
    i->precision = backend_precision_name(b->options.precision);
    i->kv_type = backend_kv_name(b->options.kv);
    i->kv_bytes_per_token = 2 * (int64_t)attention_value_bytes(b->options.kv == KV_F16) *
                            m->n_layers * m->n_kv_heads * attention_head_pad(m->head_dim);
    return backend_choose_limits(i, c, DEFAULT_STEP_TOKENS, e);
}

static int check_options(const struct cpu_backend *b, struct err *e) {
    const struct backend_cpu_options *o = &b->options;
    const struct model_config *m = &b->config;
    if (o->weights > WEIGHTS_FP8) return err_at(e, 0, "weights", "there is no such precision");
    if (o->kv > KV_INT8) return err_at(e, 0, "kv", "is neither f32, f16 nor int8");
    if (o->precision > PRECISION_FAST)
        return err_at(e, 0, "precision", "is neither exact nor fast");
    switch (o->fault) {
    case FAULT_LOST_KV_BLOCK:
        if (o->fault_arg < 0 || o->fault_arg >= policy_blocks_for(b->base.info.max_seq_tokens))
            return err_at(e, 0, "fault_arg", "block %d doesn't exist; a sequence has %d blocks",
                          o->fault_arg, policy_blocks_for(b->base.info.max_seq_tokens));
        return 0;
    case FAULT_SKIPPED_LAYER:
        if (m->n_layers < 2)
            return err_at(e, 0, "fault", "the model has one layer; nothing is left without it");
        if (o->fault_arg < 0 || o->fault_arg >= m->n_layers)
            return err_at(e, 0, "fault_arg", "layer %d doesn't exist; the model has %d layers",
                          o->fault_arg, m->n_layers);
        return 0;
    case FAULT_WRONG_HEAD_MAP:
        if (m->n_kv_heads == 1 || m->n_kv_heads == m->n_heads)
            return err_at(e, 0, "fault",
                          "a wrong head map changes nothing with %d query and %d KV heads",
                          m->n_heads, m->n_kv_heads);
        return 0;
    case FAULT_NONE:
    case FAULT_ROPE_OFF_BY_ONE:
    case FAULT_NO_SOFTMAX_SCALE:
        return 0;
    }
    return err_at(e, 0, "fault", "there is no such fault");
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Zeroed, page-aligned, backed by memory only where it is touched. */
static void *map_zeroed(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (p == MAP_FAILED) return NULL;
    madvise(p, bytes, MADV_HUGEPAGE); /* fewer page walks; may be refused */
    return p;
}

static int create_kv(struct cpu_backend *b, struct err *e) {
    const struct backend_info *i = &b->base.info;
    b->layer_kv =
        (size_t)i->kv_blocks * (size_t)b->config.n_kv_heads * attention_head_block(&b->shape);
    b->kv_bytes = b->layer_kv * (size_t)b->config.n_layers;
    b->keys = map_zeroed(b->kv_bytes);
    b->values = map_zeroed(b->kv_bytes);
    if (b->keys && b->values) return 0;
    return err_at(e, 0, "kv_blocks",
                  "a cache of %d blocks of %d tokens needs %.1f GiB, which the system refuses; "
                  "ask for fewer blocks or shorter sequences",
                  i->kv_blocks, KV_BLOCK_TOKENS, 2 * (double)b->kv_bytes / (1 << 30));
}

static float *rows_of(size_t rows, int32_t stride, bool *ok) {
    size_t bytes = (rows * (size_t)stride * sizeof(float) + 63) / 64 * 64;
    float *p = aligned_alloc(64, bytes);
    if (p) memset(p, 0, bytes);
    *ok &= p != NULL;
    return p;
}

static int create_activations(struct cpu_backend *b, struct err *e) {
    const struct model_config *c = &b->config;
    size_t rows = (size_t)b->base.info.max_step_tokens, seqs = (size_t)b->base.info.max_seqs;
    size_t logits = (size_t)backend_max_logits(&b->base.info);
    bool ok = true;
    b->d_stride = matmul_stride(c->d_model);
    b->q_stride = matmul_stride(c->n_heads * c->head_dim);
    b->kv_stride = matmul_stride(c->n_kv_heads * c->head_dim);
    b->ffn_stride = matmul_stride(c->d_ffn);
    b->x = rows_of(rows, b->d_stride, &ok);
    b->normed = rows_of(rows, b->d_stride, &ok);
    b->q = rows_of(rows, b->q_stride, &ok);
    b->k = rows_of(rows, b->kv_stride, &ok);
    b->v = rows_of(rows, b->kv_stride, &ok);
    b->mixed = rows_of(rows, b->q_stride, &ok);
    b->hidden = rows_of(rows, b->ffn_stride, &ok);
    b->frequency = rows_of(1, c->head_dim / 2, &ok);
    b->cosines = rows_of(rows, c->head_dim / 2, &ok);
    b->sines = rows_of(rows, c->head_dim / 2, &ok);
    b->q_cosines = b->cosines;
    b->q_sines = b->sines;
    if (b->options.fault == FAULT_ROPE_OFF_BY_ONE) {
        b->q_cosines = rows_of(rows, c->head_dim / 2, &ok);
        b->q_sines = rows_of(rows, c->head_dim / 2, &ok);
    }
    b->spans = calloc(seqs, sizeof *b->spans);
    b->last_spans = calloc(logits, sizeof *b->last_spans);
    b->last_row = calloc(logits, sizeof *b->last_row);
    b->position = calloc(rows, sizeof *b->position);
    b->slot = calloc(rows, sizeof *b->slot);
    b->token = calloc(rows, sizeof *b->token);
    if (ok && b->spans && b->last_spans && b->last_row && b->position && b->slot && b->token)
        return 0;
    return err_at(e, 0, "max_step_tokens", "out of memory for steps of %zu tokens", rows);
}

static int create_workers(struct cpu_backend *b, int32_t threads, struct err *e) {
    const struct model_config *c = &b->config;
    const struct backend_info *i = &b->base.info;
    int32_t cols = c->d_model > c->d_ffn ? c->d_model : c->d_ffn;
    if (c->n_heads * c->head_dim > cols) cols = c->n_heads * c->head_dim;
    b->pool = pool_create(threads, e);
    if (!b->pool) return -1;
    b->scratch = matmul_scratch_create(threads, cols, i->max_step_tokens,
                                       b->options.precision == PRECISION_FAST);
    b->attention = attention_create(&b->shape, threads, backend_max_logits(i), i->max_step_tokens,
                                    i->max_seq_tokens);
    if (b->scratch && b->attention) return 0;
    return err_set(e, "out of memory for the scratch of %d threads", threads);
}

/* ---- the interface --------------------------------------------------------------------------- */

static int step(struct backend *base, const struct backend_batch *batch, float *logits,
                struct err *e) {
    if (backend_check_batch(&base->info, batch, e)) return -1;
    cpu_forward((struct cpu_backend *)base, batch, logits);
    return 0;
}

static void destroy(struct backend *base) {
    struct cpu_backend *b = (struct cpu_backend *)base;
    pool_free(b->pool);
    matmul_scratch_free(b->scratch);
    attention_free(b->attention);
    cpu_weights_release(&b->weights);
    if (b->keys) munmap(b->keys, b->kv_bytes);
    if (b->values) munmap(b->values, b->kv_bytes);
    if (b->q_cosines != b->cosines) free(b->q_cosines);
    if (b->q_sines != b->sines) free(b->q_sines);
    void *const rows[] = {b->x,        b->normed,     b->q,     b->k,         b->v,     b->mixed,
                          b->hidden,   b->cosines,    b->sines, b->frequency, b->spans, b->slot,
                          b->position, b->last_spans, b->token, b->last_row};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) free(rows[i]);
    free(b);
}

static const struct backend_ops ops = {step, destroy};

static int init(struct cpu_backend *b, const struct backend_config *c, struct err *e) {
    const struct model_config *m = &c->model->config;
    if (m->head_dim > ATTENTION_MAX_HEAD_DIM || m->head_dim % 2)
        return err_set(e, "heads of %d values; even widths up to %d are possible", m->head_dim,
                       ATTENTION_MAX_HEAD_DIM);
    if (choose_limits(b, c, e) || check_options(b, e)) return -1;
    enum backend_fault fault = b->options.fault;
    double magnitude = m->yarn_magnitude != 0 ? (double)m->yarn_magnitude : 1;
    double scale = magnitude * magnitude / sqrt((double)m->head_dim);
    b->shape = (struct attention_shape){
        .n_heads = m->n_heads,
        .n_kv_heads = m->n_kv_heads,
        .head_dim = m->head_dim,
        .half = b->options.kv == KV_F16,
        .scale = fault == FAULT_NO_SOFTMAX_SCALE ? 1.0f : (float)scale,
        .interleaved_groups = fault == FAULT_WRONG_HEAD_MAP,
        .lost_block = fault == FAULT_LOST_KV_BLOCK ? b->options.fault_arg : -1,
    };
    if (cpu_weights_init(&b->weights, c->model, &b->options, e)) return -1;
    b->base.info.weight_bytes = b->weights.bytes;
    if (create_kv(b, e) || create_activations(b, e)) return -1;
    ops_rope_frequencies(b->frequency, m->head_dim, m->rope_theta, m->rope_scale,
                         b->weights.rope_factors);
    return create_workers(b, c->threads ? c->threads : cores(), e);
}

struct backend *backend_cpu_create_with(const struct backend_config *c,
                                        const struct backend_cpu_options *o, struct err *e) {
    struct cpu_backend *b = calloc(1, sizeof *b);
    if (!b) {
        err_set(e, "out of memory");
        return NULL;
    }
    b->base.ops = &ops;
    b->config = c->model->config;
    b->rope = c->model->rope;
    if (o) b->options = *o;
    if (init(b, c, e)) {
        destroy(&b->base);
        return NULL;
    }
    return &b->base;
}

struct backend *backend_cpu_create(const struct backend_config *c, struct err *e) {
    return backend_cpu_create_with(c, NULL, e);
}
