/* gpu_model.c: the CUDA backend as a whole on a GPU: right, and how fast. For `make gpu-check`.
 *
 *   gpu_model agree MODEL SEED          random tokens and blocks, prompts in pieces, mixed batches
 *   gpu_model time SHAPE CONTEXT BATCH.. prefill of CONTEXT tokens, decode of BATCH sequences
 * behind as many
 *
 * MODEL: a file or folder, or synthetic:SHAPE (backend/synthetic.h). `agree` compares logits with
 * the native backend: exact within 1e-3 of the greatest (wide heads, whose keys are then bf16,
 * 1e-2), bf16 within 1e-2; the weights of a made model are drawn again from SEED. `time` prints a
 * line for each figure as soon as it is known, with the closed form of its bytes and operations;
 * first the closed form ("form") of a prompt of a quarter of CONTEXT and of one more token.
 * SERVELAB_CUDA names another plug-in (a dry run's is simt's).
 *
 * Exit status: 0 all right, 1 they disagree, 2 bad usage or no device.
 */
#include "backend/cuda/cuda.h"
#include "backend/kernels.h"
#include "backend/synthetic.h"
#include "base/clock.h"
#include "base/home.h"
#include "base/rng.h"
#include "sched/policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_BATCH = 64,
    STEPS = 21, /* timed decode steps */
    PREFILLS = 5,
    WARM = 3, /* the first decode step of a batch size captures its graph */
    PIECE = 24,
    LONGEST = 96,
    SEQS = 3
};

static int complain(const struct err *e) {
    char text[700];
    fprintf(stderr, "gpu_model: %s\n", err_format(e, NULL, text, sizeof text));
    return 2;
}

static struct model *open_model(const char *name, struct err *e) {
    char home[4096];
    if (strncmp(name, "synthetic:", 10) != 0) return model_open(name, e);
    return synthetic_open(name + 10, home_path(HOME_DEFAULT_MODEL, home, sizeof home), e);
}

static double now_s(void) {
    return 1e-9 * (double)clock_monotonic_ns();
}

/* ---- agreement --------------------------------------------------------------------------------
 */

static void draw(const struct tensor *t, struct rng *r) {
    uint16_t *p = (uint16_t *)(uintptr_t)t->data;
    for (int64_t k = 0; k < t->rows * t->cols; k++) {
        float v = (float)((rng_unit(r) - 0.5) * 0.07);
        uint32_t bits;
        memcpy(&bits, &v, sizeof bits);
        p[k] = (uint16_t)(bits >> 16);
    }
}

/* The matrices get other values of the same size. Only a made model, in bf16, can be written to. */
static void draw_weights(const struct model *m, uint64_t seed) {
    struct rng r;
    rng_seed(&r, seed);
    draw(&m->embedding, &r);
    if (!m->config.tied) draw(&m->head, &r);
    for (int32_t i = 0; i < m->config.n_layers; i++) {
        const struct model_layer *l = &m->layers[i];
        const struct tensor *all[] = {&l->wq,     &l->wk,   &l->wv,    &l->wo,
                                      &l->w_gate, &l->w_up, &l->w_down};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) draw(all[k], &r);
    }
}

struct scene {
    int32_t tokens[SEQS][LONGEST], n[SEQS], table[SEQS][LONGEST / KV_BLOCK_TOKENS];
};

static void draw_scene(struct scene *s, int32_t vocab, uint64_t seed) {
    struct rng r;
    int32_t blocks[SEQS * (LONGEST / KV_BLOCK_TOKENS)], n = sizeof blocks / sizeof *blocks;
    rng_seed(&r, seed + 1);
    for (int32_t i = 0; i < n; i++) {
        int32_t j = (int32_t)rng_below(&r, (uint64_t)i + 1);
        blocks[i] = blocks[j];
        blocks[j] = i;
    }
    memcpy(s->table, blocks, sizeof blocks);
    for (int q = 0; q < SEQS; q++) {
        s->n[q] = 2 + (int32_t)rng_below(&r, LONGEST - 2);
        for (int i = 0; i < LONGEST; i++) s->tokens[q][i] = (int32_t)rng_below(&r, (uint64_t)vocab);
    }
}

/* All sequences in pieces, together; their last tokens one by one. logits: (SEQS, vocab), of the
 * last token of each. */
static int feed(struct backend *b, const struct scene *s, float *logits, struct err *e) {
    int32_t at[SEQS] = {0}, vocab = b->info.vocab_size;
    float *row = malloc((size_t)SEQS * (size_t)vocab * sizeof *row);
    int rc = row ? 0 : err_set(e, "out of memory");
    for (bool more = true; more && !rc;) {
        struct backend_seq part[SEQS];
        int32_t n = 0, of[SEQS];
        for (int q = 0; q < SEQS; q++) {
            int32_t left = s->n[q] - at[q], k = left > PIECE ? PIECE : left > 4 ? left - 3 : 1;
            if (left == 0) continue;
            of[n] = q;
            part[n++] = (struct backend_seq){
                s->tokens[q] + at[q], k, at[q], s->table[q], LONGEST / KV_BLOCK_TOKENS, left == k};
            at[q] += k;
        }
        more = n > 0;
        if (!more) break;
        rc = backend_step(b, &(struct backend_batch){part, n}, row, e);
        float *from = row;
        for (int32_t i = 0; i < n && !rc; i++)
            if (part[i].want_logits) {
                memcpy(logits + (size_t)of[i] * (size_t)vocab, from, (size_t)vocab * sizeof *row);
                from += vocab;
            }
    }
    free(row);
    return rc;
}

/* The greatest difference over the greatest logit; NaN if one is not finite. */
static double difference(const float *got, const float *want, size_t n) {
    double most = 0, worst = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(got[i])) return (double)NAN;
        most = fmax(most, fabs((double)want[i]));
        worst = fmax(worst, fabs((double)got[i] - (double)want[i]));
    }
    return worst / most;
}

static int agree(const char *name, uint64_t seed) {
    static const struct {
        const char *name;
        enum cuda_precision precision;
    } ways[] = {{"exact", CUDA_EXACT}, {"bf16", CUDA_BF16}};
    struct err e;
    struct scene s;
    int rc = 0;
    struct model *m = open_model(name, &e);
    if (!m) return complain(&e);
    if (!strncmp(name, "synthetic:", 10)) draw_weights(m, seed);
    draw_scene(&s, m->config.vocab_size, seed);
    size_t n = (size_t)SEQS * (size_t)m->config.vocab_size;
    float *want = calloc(n, sizeof *want), *got = calloc(n, sizeof *got);
    struct backend_config c = {.model = m,
                               .max_seqs = SEQS,
                               .max_seq_tokens = LONGEST,
                               .max_step_tokens = SEQS * PIECE,
                               .kv_blocks = SEQS * (LONGEST / KV_BLOCK_TOKENS)};
    struct backend *b = want && got ? backend_cpu_create(&c, &e) : NULL;
    if (!b || feed(b, &s, want, &e)) rc = complain(&e);
    backend_free(b);
    for (int i = 0; i < 2 && rc < 2; i++) {
        struct backend_cuda_options o = {.machine = CUDA_GPU, .precision = ways[i].precision};
        b = backend_cuda_create(&c, &o, &e);
        if (!b || feed(b, &s, got, &e)) {
            rc = complain(&e);
        } else {
            double d = difference(got, want, n);
            bool narrow = 2 * m->config.head_dim <= KERNEL_MAX_HEAD_DIM;
            double tolerance = ways[i].precision == CUDA_EXACT && narrow ? 1e-3 : 1e-2;
            bool right = d <= tolerance;
            printf("{\"name\": \"logits %s, %s\", \"right\": %s", ways[i].name, name,
                   right ? "true" : "false");
            if (isfinite(d)) printf(", \"of_tolerance\": %.4f", d / tolerance);
            puts("}");
            fflush(stdout);
            if (!right) rc = 1;
        }
        backend_free(b);
    }
    free(want);
    free(got);
    model_free(m);
    return rc;
}

/* ---- time -------------------------------------------------------------------------------------
 */

struct bench {
    struct model *m;
    struct backend *b;
    int32_t context, n_blocks, *prompt, *table;
    float *logits;
};

static int rising(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The bytes that `seqs` sequences of `tokens` new tokens behind `before` must move: every matrix
 * once, the keys and values of each sequence once; and the operations: two for each weight and
 * token, and four for each head's element and pair of tokens. */
static void print_form(const struct model_config *c, int32_t seqs, int32_t tokens, int32_t before) {
    double q = (double)c->n_heads * c->head_dim, kv = (double)c->n_kv_heads * c->head_dim,
           d = c->d_model, layers = c->n_layers;
    double matrices = layers * (2 * q * d + 2 * kv * d + 3.0 * c->d_ffn * d);
    double head = (double)c->vocab_size * d, news = (double)seqs * tokens;
    double pairs = news * (before + (tokens + 1) / 2.0);
    double bytes =
        2 * (matrices + head) + 4 * kv * layers * ((double)seqs * (before + tokens) + news);
    double operations = 2 * matrices * news + 2 * head * (double)seqs + 4 * layers * q * pairs;
    printf("\"bytes\": %.0f, \"operations\": %.0f, \"type\": \"bf16\", \"tokens\": %.0f}\n", bytes,
           operations, news);
    fflush(stdout);
}

static void print_figure(const struct bench *x, const char *name, double *s, int n, int32_t seqs,
                         int32_t tokens, int32_t before) {
    qsort(s, (size_t)n, sizeof *s, rising);
    printf("{\"name\": \"%s\", \"s\": %.9g, \"least_s\": %.9g, \"greatest_s\": %.9g, ", name,
           s[n / 2], s[0], s[n - 1]);
    print_form(&x->m->config, seqs, tokens, before);
}

static struct backend_seq part(const struct bench *x, int32_t seq, int32_t n, int32_t pos0) {
    return (struct backend_seq){x->prompt + pos0 % x->context, n,           pos0,
                                x->table + seq * x->n_blocks,  x->n_blocks, 1};
}

/* The prompt of one sequence, in as many steps as the backend's budget asks for. */
static int prefill(const struct bench *x, int32_t seq, double *s, struct err *e) {
    double from = now_s();
    for (int32_t at = 0; at < x->context;) {
        int32_t n = x->context - at, most = x->b->info.max_step_tokens;
        if (n > most) n = most;
        struct backend_seq p = part(x, seq, n, at);
        p.want_logits = at + n == x->context;
        if (backend_step(x->b, &(struct backend_batch){&p, 1}, x->logits, e)) return -1;
        at += n;
    }
    *s = now_s() - from;
    return 0;
}

static int decode(const struct bench *x, int32_t batch, struct err *e) {
    double s[STEPS];
    char name[64];
    for (int i = 0; i < WARM + STEPS; i++) {
        struct backend_seq seqs[MAX_BATCH];
        for (int32_t q = 0; q < batch; q++) seqs[q] = part(x, q, 1, x->context + i);
        double from = now_s();
        if (backend_step(x->b, &(struct backend_batch){seqs, batch}, x->logits, e)) return -1;
        if (i >= WARM) s[i - WARM] = now_s() - from;
    }
    snprintf(name, sizeof name, "decode, batch %d behind %d", batch, x->context);
    print_figure(x, name, s, STEPS, batch, 1, x->context + WARM + STEPS / 2);
    return 0;
}

static int time_model(struct bench *x, int32_t batches, char **batch, struct err *e) {
    double s[PREFILLS], from = now_s(), warm;
    char name[64];
    int32_t filled = 0;
    printf("{\"form\": \"prompt\", ");
    print_form(&x->m->config, 1, x->context / 4, 0);
    printf("{\"form\": \"token\", ");
    print_form(&x->m->config, 1, 1, x->context / 4);
    if (prefill(x, 0, &warm, e)) return -1;
    for (int i = 0; i < PREFILLS; i++)
        if (prefill(x, 0, &s[i], e)) return -1;
    snprintf(name, sizeof name, "prefill of %d", x->context);
    print_figure(x, name, s, PREFILLS, 1, x->context, 0);
    fprintf(stderr, "gpu_model: %d prefills took %.1f s\n", PREFILLS + 1, now_s() - from);
    for (int i = 0; i < batches; i++) {
        int32_t n = atoi(batch[i]);
        for (; filled < n; filled++)
            if (filled && prefill(x, filled, &warm, e)) return -1;
        if (decode(x, n, e)) return -1;
    }
    return 0;
}

static int time_shape(const char *shape, int32_t context, int32_t batches, char **batch) {
    struct err e;
    struct bench x = {.context = context};
    int32_t most = 1;
    for (int i = 0; i < batches; i++)
        if (atoi(batch[i]) > most) most = atoi(batch[i]);
    if (context < 2 || most > MAX_BATCH) {
        fprintf(stderr, "gpu_model: a context of 2 or more, batches of 1 to %d\n", MAX_BATCH);
        return 2;
    }
    x.n_blocks = policy_blocks_for(context + WARM + STEPS);
    x.m = open_model(shape, &e);
    if (!x.m) return complain(&e);
    struct backend_config c = {.model = x.m,
                               .max_seqs = most,
                               .max_seq_tokens = context + WARM + STEPS,
                               .max_step_tokens = context,
                               .kv_blocks = most * x.n_blocks};
    struct backend_cuda_options o = {.machine = CUDA_GPU, .precision = CUDA_BF16, .say = stderr};
    x.b = backend_cuda_create(&c, &o, &e);
    if (!x.b) return complain(&e);
    x.prompt = malloc((size_t)context * sizeof *x.prompt);
    x.table = malloc((size_t)most * (size_t)x.n_blocks * sizeof *x.table);
    x.logits = malloc((size_t)most * (size_t)x.m->config.vocab_size * sizeof *x.logits);
    int rc = x.prompt && x.table && x.logits ? 0 : err_set(&e, "out of memory");
    struct rng r;
    rng_seed(&r, 1);
    for (int32_t i = 0; i < context && !rc; i++)
        x.prompt[i] = (int32_t)rng_below(&r, (uint64_t)x.m->config.vocab_size);
    for (int32_t i = 0; i < most * x.n_blocks && !rc; i++) x.table[i] = i;
    if (rc || time_model(&x, batches, batch, &e)) rc = complain(&e);
    free(x.prompt);
    free(x.table);
    free(x.logits);
    backend_free(x.b);
    model_free(x.m);
    return rc;
}

int main(int argc, char **argv) {
    if (argc == 4 && !strcmp(argv[1], "agree")) return agree(argv[2], strtoull(argv[3], NULL, 10));
    if (argc >= 5 && !strcmp(argv[1], "time"))
        return time_shape(argv[2], atoi(argv[3]), argc - 4, argv + 4);
    fprintf(stderr, "usage: gpu_model agree MODEL SEED | time MODEL CONTEXT BATCH..\n");
    return 2;
}
