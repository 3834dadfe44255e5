/* serve_machine.c: see serve_machine.h. */
#include "cli/serve_machine.h"

#include "backend/cpu/cpu.h"
#include "backend/cuda/cuda.h"
#include "backend/none.h"
#include "backend/paced.h"
#include "backend/synthetic.h"
#include "base/buffer.h"
#include "base/home.h"
#include "model/model.h"
#include "sched/policy.h"
#include "sim/hardware.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CPU_BATCH = 8,      /* sequences that share a laptop's step before each becomes too slow */
    CUDA_BATCH = 64,    /* a GPU's decode step of so many costs little more than one of one */
    NONE_BATCH = 1024,  /* a load test of the server is not to end at the batch */
    PACED_BATCH = 256,  /* what servers of this size commonly allow, as in `sim run` */
    PACED_BUDGET = 2048 /* prefill of so many tokens saturates a GPU, as in `sim run` */
};

const char *const machine_backends[] = {"auto", "cpu", "cuda", "simt", "none", NULL};
const char *const machine_precisions[] = {"exact", "fast", "bf16", NULL};
const char *const machine_kv_types[] = {"f32", "f16", "int8", NULL};
const char *const machine_weights[] = {"as-stored", "int8", "int4", "fp8", NULL};

/* What the flags and the deployment make of the limits; 0: the backend's own default. */
struct limits {
    int32_t max_batch, token_budget, kv_blocks, context, draft_tokens;
    int64_t kv_bytes;
};

/* ---- the pace -------------------------------------------------------------------------------- */

static int split_pace(const char *text, char *model, size_t cap, const char **gpu, struct err *e) {
    const char *colon = strchr(text, ':');
    if (!colon || colon == text || !colon[1] || (size_t)(colon - text) >= cap)
        return err_at(e, 0, "--pace", "takes a model and a GPU, as in llama-2-7b:h100, not '%.60s'",
                      text);
    snprintf(model, cap, "%.*s", (int)(colon - text), text);
    *gpu = colon + 1;
    return 0;
}

static int find_deployment(const struct machine_flags *f, struct deployment *d, struct err *e) {
    char model[64];
    const char *gpu = NULL;
    if (split_pace(f->pace, model, sizeof model, &gpu, e)) return -1;
    if (deployment_find(model, gpu, d, e)) {
        text_cut(e->field, sizeof e->field, "--pace");
        return -1;
    }
    if (f->weight_bits) d->weight_bits = (int)f->weight_bits;
    if (f->kv_bits) d->kv_bits = (int)f->kv_bits;
    return 0;
}

static int pace_limits(const struct machine_flags *f, const struct deployment *d, struct limits *l,
                       struct err *e) {
    if (!l->max_batch) l->max_batch = PACED_BATCH;
    if (!l->token_budget) l->token_budget = PACED_BUDGET;
    int64_t blocks = f->kv_blocks;
    if (!blocks && f->kv_bytes)
        blocks = f->kv_bytes / (deployment_kv_bytes_per_token(d) * KV_BLOCK_TOKENS);
    if (!f->kv_blocks && !f->kv_bytes && (blocks = deployment_kv_blocks(d, e)) < 0) return -1;
    if (blocks < 1 || blocks > INT32_MAX / KV_BLOCK_TOKENS)
        return err_at(e, 0, "--kv-bytes",
                      "gives a cache of %lld blocks of %d tokens; from 1 to %d are possible, and a "
                      "block takes %lld bytes",
                      (long long)blocks, KV_BLOCK_TOKENS, INT32_MAX / KV_BLOCK_TOKENS,
                      (long long)deployment_kv_bytes_per_token(d) * KV_BLOCK_TOKENS);
    l->kv_blocks = (int32_t)blocks;
    l->kv_bytes = 0;
    return 0;
}

/* Puts *b into paced time; it takes `scale` times as long as the deployment. */
static int wrap(struct backend **b, const struct deployment *d, double scale, struct err *e) {
    char label[96];
    struct pace pace = {
        .scale = scale, .slack_ns = PACE_SLACK_NS, .clock = clock_monotonic(), .label = label};
    snprintf(label, sizeof label, "%s on %s", d->model->name, d->gpu->name);
    if (deployment_cost(d, &pace.cost, e)) return -1;
    *b = backend_paced_create(*b, &pace, e);
    return *b ? 0 : -1;
}

/* ---- the backend underneath ------------------------------------------------------------------ */

static struct backend *open_cpu(const struct machine *m, const struct machine_flags *f,
                                const struct limits *l, struct err *e) {
    struct backend_config c = {.model = m->model,
                               .threads = (int32_t)f->threads,
                               .kv_blocks = l->kv_blocks,
                               .kv_bytes = l->kv_bytes,
                               .max_seq_tokens = l->context,
                               .max_step_tokens = l->token_budget,
                               .max_seqs = l->max_batch ? l->max_batch : CPU_BATCH,
                               .draft_tokens = l->draft_tokens};
    const struct backend_cpu_options o = {
        .precision = f->precision == MACHINE_FAST ? PRECISION_FAST : PRECISION_EXACT,
        .kv = f->kv_type == KV_F16 ? KV_F16 : KV_F32};
    return backend_cpu_create_with(&c, &o, e);
}

static struct backend *open_cuda(const struct machine *m, const struct machine_flags *f,
                                 const struct limits *l, enum cuda_machine machine, struct err *e) {
    bool gpu = machine == CUDA_GPU;
    struct backend_config c = {.model = m->model,
                               .kv_blocks = l->kv_blocks,
                               .kv_bytes = l->kv_bytes,
                               .max_seq_tokens = l->context,
                               .max_step_tokens = l->token_budget,
                               .max_seqs = l->max_batch,
                               .draft_tokens = l->draft_tokens};
    if (!c.max_step_tokens && gpu) c.max_step_tokens = PACED_BUDGET;
    if (!c.max_seqs) c.max_seqs = gpu ? CUDA_BATCH : CPU_BATCH;
    const struct backend_cuda_options o = {
        .machine = machine,
        .precision = f->precision == MACHINE_EXACT ? CUDA_EXACT : CUDA_BF16,
        .say = stderr,
        .weights = (enum cuda_weights)f->weights,
        .kv = f->kv_type == KV_INT8 ? CUDA_KV_INT8 : CUDA_KV_BF16};
    struct backend *b = backend_cuda_create(&c, &o, e);
    if (!b && !e->field[0]) text_cut(e->field, sizeof e->field, "--backend");
    return b;
}

/* The GPU where there is one, or else the CPU. Paced time needs no GPU. */
static struct backend *open_auto(struct machine *m, const struct machine_flags *f,
                                 const struct limits *l, struct err *e) {
    struct err why;
    if (f->pace || f->precision == MACHINE_FAST || f->kv_type != MACHINE_DEFAULT)
        return open_cpu(m, f, l, e);
    struct backend *b = open_cuda(m, f, l, CUDA_GPU, &why);
    if (b) return b;
    text_cut(m->no_gpu, sizeof m->no_gpu, why.text);
    return open_cpu(m, f, l, e);
}

static struct backend *open_none(const struct machine *m, const struct limits *l, struct err *e) {
    int32_t *ids, n = tokenizer_encode(m->tokenizer, "0", 1, false, &ids, e);
    if (n < 0) return NULL;
    if (n == 0) {
        free(ids);
        err_set(e, "the model has no token for '0', which the backend 'none' answers");
        return NULL;
    }
    int32_t filler = ids[n - 1], context = m->model->config.context_length;
    free(ids);
    struct backend_info limits = {.vocab_size = m->model->config.vocab_size,
                                  .max_seq_tokens = l->context ? l->context : context,
                                  .max_step_tokens = l->token_budget ? l->token_budget : 8192,
                                  .max_seqs = l->max_batch ? l->max_batch : NONE_BATCH,
                                  .kv_blocks = l->kv_blocks};
    int64_t blocks = (int64_t)limits.max_seqs * policy_blocks_for(limits.max_seq_tokens);
    if (!limits.kv_blocks && blocks > INT32_MAX / KV_BLOCK_TOKENS) {
        err_at(e, 0, "--kv-blocks",
               "is needed: %d sequences of %d tokens would take %lld blocks; up to %d are possible",
               limits.max_seqs, limits.max_seq_tokens, (long long)blocks,
               INT32_MAX / KV_BLOCK_TOKENS);
        return NULL;
    }
    if (!limits.kv_blocks) limits.kv_blocks = (int32_t)blocks;
    limits.max_logits = limits.max_seqs * (1 + l->draft_tokens);
    return backend_none_create(&limits, filler, e);
}

/* ---- the draft model ------------------------------------------------------------------------- */

/* A text of one token in an error message: printable ASCII, other bytes as \xHH. */
static void show_token(const struct tokenizer *t, int32_t id, char *to, size_t cap) {
    size_t n, at = 0;
    const char *bytes = tokenizer_token_bytes(t, id, true, &n);
    for (size_t i = 0; i < n && at + 5 < cap; i++) {
        unsigned char c = (unsigned char)bytes[i];
        at += (size_t)snprintf(to + at, cap - at, c < 32 || c > 126 ? "\\x%02x" : "%c", c);
    }
    to[at] = '\0';
}

/* Both models must mean the same by an id. */
static int same_tokens(const struct tokenizer *target, const struct tokenizer *draft,
                       struct err *e) {
    int32_t n = tokenizer_vocab_size(target);
    if (tokenizer_vocab_size(draft) != n)
        return err_set(e, "its tokenizer has %d tokens, the target's %d: they must be the same",
                       tokenizer_vocab_size(draft), n);
    for (int32_t id = 0; id < n; id++) {
        size_t a, b;
        const char *of_target = tokenizer_token_bytes(target, id, true, &a);
        const char *of_draft = tokenizer_token_bytes(draft, id, true, &b);
        char text[2][80];
        if (a == b && !memcmp(of_target, of_draft, a) &&
            tokenizer_ends(target, id) == tokenizer_ends(draft, id))
            continue;
        show_token(draft, id, text[0], sizeof text[0]);
        show_token(target, id, text[1], sizeof text[1]);
        return err_set(e, "its token %d is '%s'%s, the target's '%s'%s: they must be the same", id,
                       text[0], tokenizer_ends(draft, id) ? " and ends an answer" : "", text[1],
                       tokenizer_ends(target, id) ? " and ends an answer" : "");
    }
    return 0;
}

static int check_draft(const struct machine *m, struct err *e) {
    const struct model_config *draft = &m->draft_model->config, *target = &m->model->config;
    const struct backend_info *i = &m->backend->info;
    if (draft->vocab_size != target->vocab_size)
        return err_set(e, "it has %d tokens, the target %d: they must be the same",
                       draft->vocab_size, target->vocab_size);
    if (draft->context_length < i->max_seq_tokens)
        return err_set(e, "its context is %d tokens, the target's %d; add --context %d",
                       draft->context_length, i->max_seq_tokens, draft->context_length);
    if (i->max_step_tokens + i->max_seqs > 65536)
        return err_set(e,
                       "needs steps of %d tokens and %d sequences more than one holds; lower "
                       "--token-budget",
                       i->max_step_tokens, i->max_seqs);
    struct tokenizer *t = tokenizer_create(m->draft_model->file, e);
    int rc = t ? same_tokens(m->tokenizer, t, e) : -1;
    tokenizer_free(t);
    return rc;
}

/* The error is about the draft model, whatever field of a file or a limit it names. */
static int name_draft(const struct machine_flags *f, struct err *e) {
    struct err why = *e;
    char text[600];
    return err_at(e, 0, "--draft-model", "%.200s: %.360s", f->draft,
                  err_format(&why, NULL, text, sizeof text));
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int check_flags(const struct machine_flags *f, struct err *e) {
    if (!f->pace && (f->weight_bits || f->kv_bits || f->pace_scale != 1))
        return err_at(e, 0, "--pace", "is needed by --weight-bits, --kv-bits and --pace-scale");
    if (f->draft && f->kv_bytes)
        return err_at(
            e, 0, "--kv-bytes",
            "does not say how two caches share it; with --draft-model give --kv-blocks: a "
            "block takes the bytes of both models");
    bool cuda = f->backend == MACHINE_CUDA || f->backend == MACHINE_SIMT;
    if (f->precision > MACHINE_EXACT && f->backend == MACHINE_NONE)
        return err_at(e, 0, "--precision",
                      "has no meaning with --backend none, which computes nothing");
    if (f->kv_type > KV_F32 && f->backend == MACHINE_NONE)
        return err_at(e, 0, "--kv-type",
                      "has no meaning with --backend none, which caches nothing");
    if (f->precision == MACHINE_BF16 && f->backend == MACHINE_CPU)
        return err_at(e, 0, "--precision",
                      "bf16 is of --backend cuda and simt; cpu has exact and "
                      "fast");
    if (f->precision == MACHINE_FAST && cuda)
        return err_at(e, 0, "--precision",
                      "fast is of --backend cpu; cuda and simt have bf16 and "
                      "exact");
    bool rounds = cuda && f->precision != MACHINE_EXACT;
    if (f->kv_type == KV_INT8 && !rounds)
        return err_at(e, 0, "--kv-type", "int8 is of --backend cuda and simt in --precision bf16");
    if (f->kv_type != MACHINE_DEFAULT && f->kv_type != KV_INT8 && cuda)
        return err_at(e, 0, "--kv-type",
                      "%s is of --backend cpu; the cache of cuda and simt is bf16, and follows "
                      "--precision, or int8",
                      machine_kv_types[f->kv_type]);
    if (f->weights && !rounds)
        return err_at(e, 0, "--weights",
                      "%s is of --backend cuda and simt in --precision bf16; cpu computes with "
                      "the weights that the file has",
                      machine_weights[f->weights]);
    if (f->kv_blocks && f->kv_bytes)
        return err_at(e, 0, "--kv-bytes", "and --kv-blocks state the same; give one of them");
    if (f->kv_bytes && f->backend == MACHINE_NONE && !f->pace)
        return err_at(e, 0, "--kv-bytes",
                      "has no meaning with --backend none, whose tokens take no bytes; give "
                      "--kv-blocks");
    return 0;
}

/* A limit that was given by a flag is refused under the flag's name. */
static void name_flag(const struct machine_flags *f, struct err *e) {
    const struct {
        const char *field, *flag;
        bool given;
    } names[] = {{"kv_blocks", "--kv-blocks", f->kv_blocks != 0},
                 {"kv_bytes", "--kv-bytes", f->kv_bytes != 0},
                 {"max_seqs", "--max-batch", f->max_batch != 0},
                 {"max_seq_tokens", "--context", f->context != 0},
                 {"max_step_tokens", "--token-budget", f->token_budget != 0},
                 {"weight_bits", "--weight-bits", f->weight_bits != 0},
                 {"kv_bits", "--kv-bits", f->kv_bits != 0},
                 {"cuda", "--backend", true},
                 {"simt", "--backend", true},
                 {"--gpu", "--pace", true}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].given && !strcmp(e->field, names[i].field)) {
            text_cut(e->field, sizeof e->field, names[i].flag);
            return;
        }
}

static struct backend *open_underneath(struct machine *m, const struct machine_flags *f,
                                       const struct limits *l, struct err *e) {
    switch ((enum machine_backend)f->backend) {
    case MACHINE_AUTO:
        return open_auto(m, f, l, e);
    case MACHINE_CPU:
        return open_cpu(m, f, l, e);
    case MACHINE_CUDA:
        return open_cuda(m, f, l, CUDA_GPU, e);
    case MACHINE_SIMT:
        return open_cuda(m, f, l, CUDA_SIMT, e);
    case MACHINE_NONE:
        return open_none(m, l, e);
    }
    return NULL;
}

/* The draft model, on the same kind of machine. It shares the target's block tables, so it has as
 * many blocks; and a step may catch up one token of each sequence. */
static int open_draft(struct machine *m, const struct machine_flags *f, const struct deployment *d,
                      struct err *e) {
    const struct backend_info *target = &m->backend->info;
    if (!f->draft) return 0;
    m->draft_model = model_open(f->draft, e);
    if (!m->draft_model || check_draft(m, e)) return name_draft(f, e);
    struct machine small = {.model = m->draft_model, .tokenizer = m->tokenizer};
    const struct limits l = {.max_batch = target->max_seqs,
                             .token_budget = target->max_step_tokens + target->max_seqs,
                             .kv_blocks = target->kv_blocks,
                             .context = target->max_seq_tokens};
    m->draft = open_underneath(&small, f, &l, e);
    if (!m->draft) return name_draft(f, e);
    return f->pace && f->draft_cost > 0 ? wrap(&m->draft, d, f->pace_scale * f->draft_cost, e) : 0;
}

static int open_backend(struct machine *m, const struct machine_flags *f, struct err *e) {
    struct limits l = {(int32_t)f->max_batch,
                       (int32_t)f->token_budget,
                       (int32_t)f->kv_blocks,
                       (int32_t)f->context,
                       f->draft ? (int32_t)f->draft_tokens : 0,
                       f->kv_bytes};
    struct deployment d;
    if (check_flags(f, e)) return -1;
    if (f->pace && (find_deployment(f, &d, e) || pace_limits(f, &d, &l, e))) return -1;
    m->backend = open_underneath(m, f, &l, e);
    if (!m->backend || (f->pace && wrap(&m->backend, &d, f->pace_scale, e))) return -1;
    if (f->pace) {
        m->backend->info.kv_bytes_per_token = deployment_kv_bytes_per_token(&d);
        m->backend->info.weight_bytes = deployment_weight_bytes(&d);
    }
    return open_draft(m, f, &d, e);
}

int machine_open(struct machine *m, const struct machine_flags *f, struct err *e) {
    *m = (struct machine){.path = f->model};
    if (!m->path) m->path = home_path(HOME_DEFAULT_MODEL, m->path_room, sizeof m->path_room);
    m->model = f->synthetic ? synthetic_open(f->synthetic, m->path, e) : model_open(m->path, e);
    if (!m->model) return -1;
    m->tokenizer = tokenizer_create(m->model->file, e);
    if (!m->tokenizer) return -1;
    if (!open_backend(m, f, e)) return 0;
    name_flag(f, e);
    return -1;
}

void machine_close(struct machine *m) {
    backend_free(m->draft);
    model_free(m->draft_model);
    backend_free(m->backend);
    tokenizer_free(m->tokenizer);
    model_free(m->model);
}
