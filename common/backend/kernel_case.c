/* kernel_case.c: seeded data for one launch. See kernel_case.h. */
#include "backend/kernel_case.h"

#include "backend/kernel_reference.h"
#include "backend/kernels.h"
#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sizes from text ------------------------------------------------------------------------- */

static int64_t *size_at(struct kernel_sizes *s, const char *name) {
    int i = kernel_size_index(s->spec, name);
    return i < 0 ? NULL : &s->value[i];
}
static int64_t size_of(const struct kernel_sizes *s, const char *name, int64_t otherwise) {
    int i = kernel_size_index(s->spec, name);
    return i < 0 ? otherwise : s->value[i];
}

static int parse_assignments(const char *text, struct kernel_sizes *out, struct err *e) {
    for (const char *at = text + strspn(text, " "); *at; at += strspn(at, " ")) {
        char name[32];
        int used = 0;
        long long value;
        if (sscanf(at, "%31[a-z_0-9]=%lld%n", name, &value, &used) != 2 ||
            (at[used] && at[used] != ' '))
            return err_set(e, "sizes are written as rows=5 d=64, not \"%.60s\"", at);
        int64_t *size = size_at(out, name);
        if (!size) return err_at(e, 0, name, "is not a size of %s", out->spec->name);
        *size = value;
        at += used;
    }
    return 0;
}

static void complete(struct kernel_sizes *s, const char *name, int64_t value) {
    int64_t *size = size_at(s, name);
    if (size && *size < 0) *size = value;
}

int kernel_sizes_parse(const struct kernel_spec *k, const char *text, struct kernel_sizes *out,
                       struct err *e) {
    *out = (struct kernel_sizes){.spec = k};
    for (int i = 0; i < kernel_size_count(k); i++) out->value[i] = -1;
    if (parse_assignments(text, out, e)) return -1;
    complete(out, "pos0", 0);
    complete(out, "top_k", 0);
    complete(out, "stride", size_of(out, "cols", 0) + 16);
    complete(out, "positions", size_of(out, "tokens", 0) + 40);
    complete(out, "vocab", 97);
    int64_t tokens = size_of(out, "tokens", 0), seqs = size_of(out, "seqs", 1);
    int64_t blocks = (size_of(out, "context", size_of(out, "pos0", 0) + tokens) + 15) / 16;
    complete(out, "max_blocks", blocks + 2);
    complete(out, "pool_blocks", seqs * blocks + 3);
    int64_t keys = 0, context = size_of(out, "context", 0);
    for (int64_t i = 0; context > 0 && i < seqs; i++) keys += kernel_case_length(context, i);
    complete(out, "keys", keys);
    for (int i = 0; i < kernel_size_count(k); i++)
        if (out->value[i] < 0)
            return err_at(e, 0, k->size[i].name, "is missing: write, for example, %s=8",
                          k->size[i].name);
    return kernel_sizes_check(out, e);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

struct filling {
    struct kernel_case *c;
    struct rng rng;
    int32_t *blocks; /* (pool_blocks) in random order: the i-th block that is handed out */
};

static double within(struct filling *f, double lo, double hi) {
    return lo + (hi - lo) * rng_unit(&f->rng);
}
static bool is(const struct filling *f, const char *kernel) {
    return !strcmp(f->c->spec->name, kernel);
}
static int64_t size(const struct filling *f, const char *name) {
    return size_of(&f->c->sizes, name, 0);
}

static const struct kernel_tensor *tensor_named(const struct kernel_case *c, const char *name) {
    for (int p = 0; p < kernel_param_count(c->spec); p++)
        if (c->tensor[p].n && !strcmp(c->spec->param[p].name, name)) return &c->tensor[p];
    return NULL;
}

/* Rows of logits: fractions of 4 or 16, so that there are ties, the greatest value twice. In turns
 * far above zero, far below it, and around it; the latter ones are flat, so that many tokens
 * matter.
 */
static void fill_logits(struct filling *f, float *x, int64_t n) {
    static const float middle[] = {300, -300, 0.25f}, per_one[] = {4, 4, 16};
    int64_t vocab = size(f, "vocab"), turn = (int64_t)rng_below(&f->rng, 3);
    for (int64_t i = 0; i < n; i++) {
        int64_t kind = (i / vocab + turn) % 3;
        x[i] = (float)floor(within(f, -24, 24)) / per_one[kind] + middle[kind];
    }
    for (int64_t r = 0; r < n; r += vocab) {
        int64_t a = (int64_t)rng_below(&f->rng, (uint64_t)vocab);
        int64_t b = (int64_t)rng_below(&f->rng, (uint64_t)vocab);
        int64_t kind = (r / vocab + turn) % 3;
        x[r + a] = x[r + b] = 25 / per_one[kind] + middle[kind];
    }
}

/* Angles as models use them: position * 10000^(-2 i / head_dim). */
static void fill_angles(struct filling *f, float *x, int64_t n, bool sine) {
    int64_t half = size(f, "head_dim") / 2;
    for (int64_t i = 0; i < n; i++) {
        double frequency = pow(10000, -(double)(i % half) / (double)half);
        double angle = (double)(i / half) * frequency;
        x[i] = (float)(sine ? sin(angle) : cos(angle));
    }
}

static void fill_floats(struct filling *f, const char *name, float *x, int64_t n) {
    if (!strcmp(name, "logits")) {
        fill_logits(f, x, n);
        return;
    }
    if (!strcmp(name, "cosines") || !strcmp(name, "sines")) {
        fill_angles(f, x, n, name[0] == 's');
        return;
    }
    int64_t d = size(f, "d"), splits = size(f, "splits");
    for (int64_t i = 0; i < n; i++) {
        double v = within(f, -1, 1);
        if (is(f, "softmax")) v = 8 * v + (double)(i / d % 3) * 250 - 200;
        if (is(f, "copy_strided") && i % size(f, "stride") >= size(f, "cols")) v = NAN;
        if (!strcmp(name, "weight")) v = 1 + v / 2;
        if (!strcmp(name, "scale")) v = 0.02 + v / 100;
        if (!strcmp(name, "q")) v *= 3;
        if (!strcmp(name, "split_max")) v = 30 * v + (i / splits % 2 ? -100 : 100);
        if (!strcmp(name, "split_sum")) v = 8 + 7 * v;
        if (!strcmp(name, "uniform")) v = i == 0 ? 0 : i == 1 ? 0.99999994 : v / 2 + 0.5;
        /* every other row of a merge has an empty split at its end, whose 0 is its greatest maximum
         */
        if (!strncmp(name, "split_", 6) && splits > 1 && i / splits % 2 && i % splits == splits - 1)
            v = 0;
        x[i] = (float)v;
        if (!strcmp(name, "uniform") && x[i] >= 1) x[i] = 0.5f;
    }
}

static void fill_ints(struct filling *f, const char *name, int32_t *x, int64_t n) {
    int64_t tokens_blocks = (size(f, "context") + 15) / 16;
    int64_t first_slot = size(f, "pool_blocks") * 16 - n >= 5 ? 5 : 0; /* in mid-block if it can */
    for (int64_t i = 0; i < n; i++) {
        if (!strcmp(name, "id"))
            x[i] = (int32_t)rng_below(&f->rng, (uint64_t)size(f, "vocab"));
        else if (!strcmp(name, "position"))
            x[i] = (int32_t)((7 * i + 3) % size(f, "positions"));
        else if (!strcmp(name, "slot"))
            x[i] = f->blocks[(i + first_slot) / 16] * 16 + (int32_t)((i + first_slot) % 16);
        else if (!strcmp(name, "length"))
            x[i] = (int32_t)kernel_case_length(size(f, "context"), i);
        else if (!strcmp(name, "block_table"))
            x[i] = f->blocks[i];
        else { /* block_tables: a row's blocks, then entries that must not be followed */
            int64_t max_blocks = size(f, "max_blocks"), s = i / max_blocks, b = i % max_blocks;
            int64_t own = (kernel_case_length(size(f, "context"), s) + 15) / 16;
            x[i] = b < own ? f->blocks[s * tokens_blocks + b] : -1;
        }
    }
}

static void fill_bf16(struct filling *f, const char *name, uint16_t *x, int64_t n) {
    bool cache = !strcmp(name, "kpool") || !strcmp(name, "vpool");
    double span = !strcmp(name, "kpool") ? 1.5 : 1;
    for (int64_t i = 0; i < n; i++)
        x[i] = cache && !is(f, "rope") ? 0x7fc0 : reference_bf16_nearest(within(f, -span, span));
}

/* Fills the blocks in a table: keys, and after them slots whose values must not count. */
static void fill_cache(struct filling *f, const int32_t *table, int64_t length) {
    int64_t heads = size(f, "kv_heads"), d = size(f, "head_dim");
    uint16_t *k = tensor_named(f->c, "kpool")->data, *v = tensor_named(f->c, "vpool")->data;
    for (int64_t p = 0; p < (length + 15) / 16 * 16; p++)
        for (int64_t i = 0; i < heads * d; i++) {
            int64_t at = ((table[p / 16] * heads + i / d) * 16 + p % 16) * d + i % d;
            double stray = rng_below(&f->rng, 2) ? 3e4 : -3e4;
            k[at] = reference_bf16_nearest(p < length ? within(f, -1.5, 1.5) : stray);
            v[at] = reference_bf16_nearest(p < length ? within(f, -1, 1) : stray);
        }
}

static void fill_caches(struct filling *f) {
    if (is(f, "attention_prefill"))
        fill_cache(f, tensor_named(f->c, "block_table")->data, size(f, "pos0") + size(f, "tokens"));
    if (!is(f, "attention_decode")) return;
    const int32_t *tables = tensor_named(f->c, "block_tables")->data;
    for (int64_t s = 0; s < size(f, "seqs"); s++)
        fill_cache(f, tables + s * size(f, "max_blocks"),
                   kernel_case_length(size(f, "context"), s));
}

/* An empty split has no values either. */
static void clear_empty_splits(struct kernel_case *c) {
    const struct kernel_tensor *sum = tensor_named(c, "split_sum");
    float *partial = tensor_named(c, "partial")->data;
    int64_t d = size_of(&c->sizes, "head_dim", 1);
    for (int64_t i = 0; i < sum->n; i++)
        if (((const float *)sum->data)[i] == 0)
            memset(partial + i * d, 0, (size_t)d * sizeof *partial);
}

static void poison(struct kernel_tensor *t) {
    memset(t->data, 0xff, t->bytes); /* a NaN as float and as bf16, -1 as an integer */
}

static void fill_tensor(struct filling *f, int param) {
    const struct kernel_param *p = &f->c->spec->param[param];
    struct kernel_tensor *t = &f->c->tensor[param];
    if (p->role == KERNEL_OUT) {
        poison(t);
        return;
    }
    if (p->dtype == KERNEL_F32) fill_floats(f, p->name, t->data, t->n);
    if (p->dtype == KERNEL_BF16) fill_bf16(f, p->name, t->data, t->n);
    if (p->dtype == KERNEL_I32) fill_ints(f, p->name, t->data, t->n);
    for (int64_t i = 0; p->dtype == KERNEL_I8 && i < t->n; i++)
        ((int8_t *)t->data)[i] = (int8_t)((int64_t)rng_below(&f->rng, 255) - 127);
}

static int64_t z(const struct kernel_case *c, const char *name) {
    return size_of(&c->sizes, name, 0);
}

static void fill_numbers(struct kernel_case *c, uint64_t seed) {
    for (int p = 0; p < kernel_param_count(c->spec); p++) {
        const char *name = c->spec->param[p].name;
        if (c->spec->param[p].role == KERNEL_SIZE)
            c->size[p] = (int32_t)size_of(&c->sizes, name, 0);
        if (!strcmp(name, "eps")) c->scalar[p] = 0.01f; /* large, so that a missing eps shows */
        if (!strcmp(name, "temperature")) c->scalar[p] = 0.8f;
        if (!strcmp(name, "top_p"))
            c->scalar[p] = z(c, "top_k") > 0 ? 0.9f : seed % 2 ? 1.0f : 0.5f;
        if (!strcmp(name, "scale"))
            c->scalar[p] = (float)(1 / sqrt((double)size_of(&c->sizes, "head_dim", 1)));
    }
}

/* ---- expected outputs ------------------------------------------------------------------------ */

static const void *in(const struct kernel_case *c, const char *name) {
    return tensor_named(c, name)->data;
}
static double *want(const struct kernel_case *c, const char *name) {
    return tensor_named(c, name)->want;
}
static double scalar(const struct kernel_case *c, const char *name) {
    for (int p = 0; p < kernel_param_count(c->spec); p++)
        if (c->spec->param[p].role == KERNEL_SCALAR && !strcmp(c->spec->param[p].name, name))
            return (double)c->scalar[p];
    return 0;
}
static struct reference_heads heads_of(const struct kernel_case *c) {
    return (struct reference_heads){z(c, "q_heads"), z(c, "kv_heads"), z(c, "head_dim")};
}
static struct reference_cache cache_of(const struct kernel_case *c) {
    return (struct reference_cache){in(c, "kpool"), in(c, "vpool"), heads_of(c),
                                    scalar(c, "scale")};
}
static struct reference_sampling sampling_of(const struct kernel_case *c) {
    return (struct reference_sampling){z(c, "vocab"), z(c, "top_k"), scalar(c, "temperature"),
                                       scalar(c, "top_p")};
}

static void want_copy(const struct kernel_case *c) {
    reference_copy_strided(want(c, "out"), in(c, "in"), 1, z(c, "n"), z(c, "n"));
}
static void want_copy_strided(const struct kernel_case *c) {
    reference_copy_strided(want(c, "out"), in(c, "in"), z(c, "rows"), z(c, "cols"), z(c, "stride"));
}
static void want_rmsnorm(const struct kernel_case *c) {
    reference_rmsnorm(want(c, "out"), want(c, "residual"), in(c, "residual"), in(c, "x"),
                      in(c, "weight"), z(c, "rows"), z(c, "d"), scalar(c, "eps"));
}
static void want_softmax(const struct kernel_case *c) {
    reference_softmax(want(c, "out"), in(c, "x"), z(c, "rows"), z(c, "d"));
}
static void want_rope(const struct kernel_case *c) {
    for (int i = 0; i < 2; i++) {
        const struct kernel_tensor *pool = tensor_named(c, i ? "vpool" : "kpool");
        for (int64_t j = 0; j < pool->n; j++)
            pool->want[j] = reference_bf16(((const uint16_t *)pool->data)[j]);
    }
    reference_rope(want(c, "q"), want(c, "kpool"), want(c, "vpool"), in(c, "q"), in(c, "k"),
                   in(c, "v"), in(c, "cosines"), in(c, "sines"), in(c, "position"), in(c, "slot"),
                   z(c, "tokens"), heads_of(c));
}
static void want_swiglu(const struct kernel_case *c) {
    reference_swiglu(want(c, "out"), in(c, "gate_up"), z(c, "rows"), z(c, "d"));
}
static void want_embedding(const struct kernel_case *c) {
    reference_embedding(want(c, "out"), in(c, "table"), in(c, "id"), z(c, "tokens"), z(c, "d"));
}
static void want_gemm(const struct kernel_case *c) {
    reference_gemm(want(c, "c"), in(c, "a"), in(c, "b"), z(c, "m"), z(c, "n"), z(c, "k"));
}
static void want_gemv(const struct kernel_case *c) {
    reference_gemv(want(c, "y"), in(c, "w"), in(c, "x"), z(c, "rows"), z(c, "cols"));
}
static void want_gemv_int8(const struct kernel_case *c) {
    reference_gemv_int8(want(c, "y"), in(c, "w"), in(c, "scale"), in(c, "x"), z(c, "rows"),
                        z(c, "cols"));
}
static void want_attention_prefill(const struct kernel_case *c) {
    struct reference_cache cache = cache_of(c);
    reference_attention_prefill(want(c, "out"), in(c, "q"), &cache, in(c, "block_table"),
                                z(c, "pos0"), z(c, "tokens"));
}
static void want_attention_decode(const struct kernel_case *c) {
    struct reference_cache cache = cache_of(c);
    reference_attention_decode(want(c, "partial"), want(c, "split_max"), want(c, "split_sum"),
                               in(c, "q"), &cache, in(c, "block_tables"), in(c, "length"),
                               z(c, "seqs"), z(c, "max_blocks"), z(c, "splits"));
}
static void want_attention_merge(const struct kernel_case *c) {
    reference_attention_merge(want(c, "out"), in(c, "partial"), in(c, "split_max"),
                              in(c, "split_sum"), z(c, "seqs") * z(c, "q_heads"), z(c, "head_dim"),
                              z(c, "splits"));
}
static void want_argmax(const struct kernel_case *c) {
    const float *logits = in(c, "logits");
    for (int64_t r = 0; r < z(c, "rows"); r++)
        want(c, "out")[r] = reference_argmax(logits + r * z(c, "vocab"), z(c, "vocab"));
}
static void want_sample(const struct kernel_case *c) {
    struct reference_sampling s = sampling_of(c);
    const float *logits = in(c, "logits"), *uniform = in(c, "uniform");
    for (int64_t r = 0; r < z(c, "rows"); r++)
        want(c, "out")[r] = reference_sample(logits + r * s.vocab, (double)uniform[r], &s);
}

static const struct {
    const char *kernel;
    void (*compute)(const struct kernel_case *c);
} expectations[] = {
    {"copy", want_copy},
    {"copy_strided", want_copy_strided},
    {"rmsnorm", want_rmsnorm},
    {"softmax", want_softmax},
    {"rope", want_rope},
    {"swiglu", want_swiglu},
    {"embedding", want_embedding},
    {"gemm", want_gemm},
    {"gemv", want_gemv},
    {"gemv_int8", want_gemv_int8},
    {"attention_prefill", want_attention_prefill},
    {"attention_decode", want_attention_decode},
    {"attention_merge", want_attention_merge},
    {"argmax", want_argmax},
    {"sample", want_sample},
};

void kernel_case_compute(struct kernel_case *c) {
    for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++)
        if (!strcmp(expectations[i].kernel, c->spec->name)) expectations[i].compute(c);
}

/* ---- a case ---------------------------------------------------------------------------------- */

static int allocate(struct kernel_case *c) {
    for (int p = 0; p < kernel_param_count(c->spec); p++) {
        const struct kernel_param *k = &c->spec->param[p];
        struct kernel_tensor *t = &c->tensor[p];
        if (!k->shape) continue;
        t->n = kernel_elements(&c->sizes, p);
        t->bytes = (size_t)t->n * kernel_dtype_bytes(k->dtype);
        t->data = malloc(t->bytes);
        if (!t->data) return -1;
        if (k->role == KERNEL_IN) continue;
        t->want = malloc((size_t)t->n * sizeof *t->want);
        if (!t->want) return -1;
    }
    return 0;
}

static void shuffle(int32_t *x, int64_t n, struct rng *rng) {
    for (int64_t i = 0; i < n; i++) x[i] = (int32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)rng_below(rng, (uint64_t)i + 1);
        int32_t was = x[i];
        x[i] = x[j];
        x[j] = was;
    }
}

int kernel_case_fill(struct kernel_case *c, const struct kernel_sizes *s, uint64_t seed,
                     struct err *e) {
    *c = (struct kernel_case){.spec = s->spec, .sizes = *s};
    struct filling f = {.c = c};
    int64_t blocks = size_of(s, "pool_blocks", 1);
    rng_seed(&f.rng, seed);
    f.blocks = malloc((size_t)blocks * sizeof *f.blocks);
    if (!f.blocks || allocate(c)) {
        free(f.blocks);
        kernel_case_release(c);
        return err_set(e, "out of memory for the data of %s", s->spec->name);
    }
    shuffle(f.blocks, blocks, &f.rng);
    for (int p = 0; p < kernel_param_count(c->spec); p++)
        if (c->tensor[p].n) fill_tensor(&f, p);
    fill_caches(&f);
    if (is(&f, "attention_merge")) clear_empty_splits(c);
    free(f.blocks);
    fill_numbers(c, seed);
    return 0;
}

int kernel_case_init(struct kernel_case *c, const struct kernel_sizes *s, uint64_t seed,
                     struct err *e) {
    if (kernel_case_fill(c, s, seed, e)) return -1;
    kernel_case_compute(c);
    return 0;
}

void kernel_case_release(struct kernel_case *c) {
    for (int p = 0; p < KERNEL_MAX_PARAMS; p++) {
        free(c->tensor[p].data);
        free(c->tensor[p].want);
        c->tensor[p] = (struct kernel_tensor){0};
    }
}

/* ---- the verdict ----------------------------------------------------------------------------- */

/* Indices are right or wrong; the first wrong one is the worst. */
static struct comparison check_indices(const struct kernel_case *c, int param, const int32_t *got) {
    const struct kernel_tensor *t = &c->tensor[param];
    struct reference_sampling s = sampling_of(c);
    const float *logits = in(c, "logits");
    struct comparison v = {.ok = true, .n = (size_t)t->n};
    for (int64_t i = 0; i < t->n && v.ok; i++) {
        v.worst = (size_t)i;
        v.got = got[i];
        v.want = t->want[i];
        if (v.got == v.want) continue;
        bool allowed = false;
        if (!strcmp(c->spec->name, "sample") && got[i] >= 0 && got[i] < s.vocab)
            allowed = reference_sample_allows(
                logits + i * s.vocab, (double)((const float *)in(c, "uniform"))[i], &s, got[i]);
        v.ok = allowed;
        v.error = v.used = allowed ? 0 : INFINITY;
    }
    return v;
}

struct comparison kernel_case_check(const struct kernel_case *c, int param, const void *got) {
    const struct kernel_param *p = &c->spec->param[param];
    const struct kernel_tensor *t = &c->tensor[param];
    INVARIANT(t->want != NULL);
    if (p->dtype == KERNEL_I32) return check_indices(c, param, got);
    if (p->dtype == KERNEL_F32)
        return compare_floats(got, t->want, NULL, (size_t)t->n, p->tolerance);
    float *wide = malloc((size_t)t->n * sizeof *wide);
    struct comparison v = {.n = (size_t)t->n, .fault = "out of memory"};
    if (!wide) return v;
    for (int64_t i = 0; i < t->n; i++) wide[i] = (float)reference_bf16(((const uint16_t *)got)[i]);
    v = compare_floats(wide, t->want, NULL, (size_t)t->n, p->tolerance);
    free(wide);
    return v;
}

bool kernel_case_input_changed(const struct kernel_case *c, int param, const void *got) {
    const struct kernel_tensor *t = &c->tensor[param];
    return c->spec->param[param].role == KERNEL_IN && t->n && memcmp(got, t->data, t->bytes) != 0;
}

void kernel_case_args(struct kernel_case *c, void *pointer[KERNEL_MAX_PARAMS],
                      void *args[KERNEL_MAX_PARAMS]) {
    for (int p = 0; p < kernel_param_count(c->spec); p++) {
        enum kernel_role role = c->spec->param[p].role;
        if (role == KERNEL_SIZE)
            args[p] = &c->size[p];
        else if (role == KERNEL_SCALAR)
            args[p] = &c->scalar[p];
        else
            args[p] = &pointer[p];
    }
}
