/* synthetic.c: see synthetic.h. The model is written as a GGUF file would be, in memory, so that
 * all else takes it like any model. */
#include "backend/synthetic.h"

#include "base/buffer.h"
#include "base/rng.h"
#include "model/gguf_keys.h"
#include "model/rope.h"
#include "sim/hardware.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PATTERN = 8 << 20, /* bytes that repeat: too many for a cache of one core */
    ALIGN = 64,
    MAX_PART = 64,
    PER_LAYER = 12
};

/* What sim/hardware.h doesn't have, from the models' config.json. */
static const struct facts {
    const char *name, *arch;
    int32_t context;
    double theta, eps;
    bool biased, llama3;
} facts[] = {{"llama-2-7b", "llama", 4096, 1e4, 1e-5, false, false},
             {"mistral-7b", "llama", 32768, 1e6, 1e-5, false, false},
             {"qwen2.5-7b", "qwen2", 131072, 1e6, 1e-6, true, false},
             {"llama-3.1-8b", "llama", 131072, 5e5, 1e-5, false, true},
             {"smollm2-135m", "llama", 8192, 1e5, 1e-5, false, false}};

struct maker {
    const struct facts *facts;
    struct model_shape s;
    struct tensor_entry *tensors;
    char (*names)[GGUF_MAX_TENSOR_NAME];
    size_t n;
    uint64_t bytes;
    uint8_t *base; /* NULL: sizes are only counted */
    struct err *e;
};

static int find_shape(struct maker *m, const char *shape);
static void write_keys(const struct maker *m, const char *shape, struct gguf_keys *k);
static int copy_tokenizer(const struct maker *m, const char *path, struct gguf_keys *k);
static void lay_out(struct maker *m);
static int make_weights(struct maker *m);

struct model *synthetic_open(const char *shape, const char *tokenizer, struct err *e) {
    struct maker m = {.e = e};
    struct gguf_keys keys = {0};
    struct gguf *g = NULL;
    size_t n = 0;
    if (find_shape(&m, shape)) return NULL;
    size_t most = (size_t)m.s.layers * PER_LAYER + 4;
    m.tensors = calloc(most, sizeof *m.tensors);
    m.names = calloc(most, sizeof *m.names);
    write_keys(&m, shape, &keys);
    uint8_t *header = NULL;
    if (!m.tensors || !m.names)
        err_set(e, "out of memory for the model's tensors");
    else if (copy_tokenizer(&m, tokenizer, &keys) == 0 && make_weights(&m) == 0)
        header = gguf_keys_finish(&keys, &n, e);
    if (header) g = gguf_from_parts(header, n, m.tensors, m.n, e);
    buffer_release(&keys.bytes);
    if (!header) free(m.tensors);
    if (!g) {
        if (m.base) munmap(m.base, m.bytes);
        free(m.names);
        return NULL;
    }
    g->made = (struct mapping){m.base, m.bytes};
    g->made_names = m.names;
    return model_from_gguf(g, e);
}

/* ---- the shape ------------------------------------------------------------------------------- */

static int32_t part_of(int32_t whole, int32_t n, int32_t unit) {
    int32_t units = whole / unit / n;
    return (units ? units : 1) * unit;
}

/* 1/n of the shape: heads of the same size, KV heads that divide them, widths of whole blocks. */
static void divide(struct model_shape *s, int32_t n) {
    s->layers = part_of(s->layers, n, 1);
    s->heads = part_of(s->heads, n, 1);
    s->kv_heads = part_of(s->kv_heads, n, 1);
    while (s->heads % s->kv_heads) s->kv_heads--;
    s->width = part_of(s->width, n, 32);
    s->ffn = part_of(s->ffn, n, 32);
}

static int find_shape(struct maker *m, const char *shape) {
    char name[64];
    const char *slash = strchr(shape, '/');
    long part = slash ? strtol(slash + 1, NULL, 10) : 1;
    snprintf(name, sizeof name, "%.*s", slash ? (int)(slash - shape) : (int)strlen(shape), shape);
    if (part < 1 || part > MAX_PART ||
        (slash && strspn(slash + 1, "0123456789") != strlen(slash + 1)))
        return err_at(m->e, 0, "--synthetic-weights", "'%.40s' isn't a part: 1 to %d is possible",
                      slash + 1, MAX_PART);
    struct deployment d;
    if (deployment_find(name, "h100", &d, m->e)) {
        if (m->e) text_cut(m->e->field, sizeof m->e->field, "--synthetic-weights");
        return -1;
    }
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (!strcmp(facts[i].name, d.model->name)) m->facts = &facts[i];
    if (!m->facts)
        return err_at(m->e, 0, "--synthetic-weights", "%s is not a dense decoder that is computed",
                      name);
    m->s = *d.model;
    divide(&m->s, (int32_t)part);
    return 0;
}

static void write_keys(const struct maker *m, const char *shape, struct gguf_keys *k) {
    const struct model_shape *s = &m->s;
    const struct {
        const char *key;
        int64_t v;
    } ints[] = {{"block_count", s->layers},
                {"context_length", m->facts->context},
                {"embedding_length", s->width},
                {"feed_forward_length", s->ffn},
                {"attention.head_count", s->heads},
                {"attention.head_count_kv", s->kv_heads},
                {"attention.key_length", s->head_size},
                {"rope.dimension_count", s->head_size}};
    char text[96];
    snprintf(text, sizeof text, "synthetic %.60s", shape);
    gguf_keys_puts(k, "general.architecture", m->facts->arch);
    gguf_keys_puts(k, "general.name", text);
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        snprintf(text, sizeof text, "%s.%s", m->facts->arch, ints[i].key);
        gguf_keys_int(k, text, ints[i].v);
    }
    snprintf(text, sizeof text, "%s.attention.layer_norm_rms_epsilon", m->facts->arch);
    gguf_keys_float(k, text, m->facts->eps);
    snprintf(text, sizeof text, "%s.rope.freq_base", m->facts->arch);
    gguf_keys_float(k, text, m->facts->theta);
}

static int copy_tokenizer(const struct maker *m, const char *path, struct gguf_keys *k) {
    uint64_t n = 0;
    struct gguf *from = gguf_open(path, m->e);
    if (!from) return -1;
    for (size_t i = 0; i < gguf_n_keys(from); i++) {
        struct gguf_str key = gguf_key_at(from, i);
        if (key.n > 10 && !memcmp(key.s, "tokenizer.", 10)) gguf_keys_copy(k, from, i);
    }
    int rc = gguf_get_count(from, "tokenizer.ggml.tokens", &n, NULL);
    gguf_close(from);
    if (rc || n > (uint64_t)m->s.vocabulary)
        return err_at(m->e, 0, "tokenizer.ggml.tokens",
                      "has %llu tokens, but %s has %d; name another model with --model",
                      (unsigned long long)n, m->s.name, m->s.vocabulary);
    return 0;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* rows 0: a vector, in float32. */
static uint8_t *add(struct maker *m, const char *name, int64_t rows, int64_t cols) {
    struct tensor_entry *t = &m->tensors[m->n];
    uint64_t bytes = rows ? 2 * (uint64_t)(rows * cols) : 4 * (uint64_t)cols;
    snprintf(m->names[m->n], sizeof m->names[0], "%s", name);
    *t = (struct tensor_entry){.name = {m->names[m->n], strlen(name)},
                               .type = rows ? DTYPE_BF16 : DTYPE_F32,
                               .n_dims = rows ? 2 : 1,
                               .dims = {(uint64_t)cols, (uint64_t)rows},
                               .data = m->base ? m->base + m->bytes : NULL};
    m->n++;
    m->bytes += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return m->base ? m->base + m->bytes - (bytes + ALIGN - 1) / ALIGN * ALIGN : NULL;
}

static void vector(struct maker *m, const char *name, int64_t n, float value) {
    uint8_t *p = add(m, name, 0, n);
    for (int64_t i = 0; p && i < n; i++) memcpy(p + 4 * i, &value, 4);
}

static void lay_out(struct maker *m) {
    const struct model_shape *s = &m->s;
    int64_t q = (int64_t)s->heads * s->head_size, kv = (int64_t)s->kv_heads * s->head_size;
    const struct {
        const char *part;
        int64_t rows, cols;
        bool bias;
    } parts[] = {{"attn_norm.weight", 0, s->width, false},
                 {"ffn_norm.weight", 0, s->width, false},
                 {"attn_q.weight", q, s->width, false},
                 {"attn_k.weight", kv, s->width, false},
                 {"attn_v.weight", kv, s->width, false},
                 {"attn_output.weight", s->width, q, false},
                 {"attn_q.bias", 0, q, true},
                 {"attn_k.bias", 0, kv, true},
                 {"attn_v.bias", 0, kv, true},
                 {"ffn_gate.weight", s->ffn, s->width, false},
                 {"ffn_up.weight", s->ffn, s->width, false},
                 {"ffn_down.weight", s->width, s->ffn, false}};
    m->n = 0;
    m->bytes = 0;
    add(m, "token_embd.weight", s->vocabulary, s->width);
    vector(m, "output_norm.weight", s->width, 1);
    if (!s->tied) add(m, "output.weight", s->vocabulary, s->width);
    for (int32_t i = 0; i < s->layers; i++)
        for (size_t p = 0; p < PER_LAYER; p++) {
            char name[GGUF_MAX_TENSOR_NAME];
            snprintf(name, sizeof name, "blk.%d.%s", i, parts[p].part);
            if (parts[p].bias && !m->facts->biased) continue;
            if (parts[p].rows)
                add(m, name, parts[p].rows, parts[p].cols);
            else
                vector(m, name, parts[p].cols, parts[p].bias ? 0.01f : 1);
        }
    if (!m->facts->llama3) return;
    uint8_t *p = add(m, "rope_freqs.weight", 0, s->head_size / 2);
    if (p) rope_llama3_factors((float *)p, s->head_size, m->facts->theta, 8, 1, 4, 8192);
}

/* Values between -0.035 and 0.035: a standard deviation of 0.02, as models are initialised with. */
static void fill(uint8_t *p, uint64_t bytes) {
    struct rng r;
    rng_seed(&r, 1);
    uint64_t first = bytes < PATTERN ? bytes : PATTERN;
    for (uint64_t i = 0; i + 2 <= first; i += 2) {
        float v = (float)((rng_unit(&r) - 0.5) * 0.07);
        uint32_t bits;
        memcpy(&bits, &v, sizeof bits);
        uint16_t high = (uint16_t)(bits >> 16);
        memcpy(p + i, &high, sizeof high);
    }
    for (uint64_t at = first; at < bytes; at += first)
        memcpy(p + at, p, bytes - at < first ? bytes - at : first);
}

/* Bytes that the system could give now; 0: not known. */
static uint64_t available(void) {
    char line[128];
    unsigned long long kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) break;
    if (f) fclose(f);
    return kib * 1024;
}

static int make_weights(struct maker *m) {
    lay_out(m); /* counts the bytes */
    uint64_t free_bytes = available(), bytes = m->bytes;
    if (free_bytes && bytes > free_bytes)
        return err_at(
            m->e, 0, "--synthetic-weights",
            "the weights take %.1f GiB, and %.1f GiB of memory are free; take a part, such "
            "as %s/4",
            (double)bytes / (1 << 30), (double)free_bytes / (1 << 30), m->s.name);
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return err_at(m->e, 0, "--synthetic-weights",
                      "the system refuses the %.1f GiB that the weights take",
                      (double)bytes / (1 << 30));
    madvise(p, bytes, MADV_HUGEPAGE); /* may be refused */
    fill(p, bytes);
    m->base = p;
    lay_out(m); /* the same again, with the norms, biases and factors in their places */
    return 0;
}
