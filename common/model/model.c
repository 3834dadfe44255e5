/* model.c: reads a Llama-family decoder from a GGUF file: its configuration and a checked view on
 * every weight. Refuses files that the backends would compute wrongly. Not here: the container
 * format (gguf.c), the meaning of further keys (metadata.c), scaled positions (rope.c), the
 * tokenizer (tokenizer.c), arithmetic (backend/). */
#include "model/model.h"

#include "model/gguf.h"
#include "model/hf_model.h"
#include "model/metadata.h"
#include "model/rope.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits: far above any published model of this family, low enough that the product of two fits 64
 * bits and that an array per layer stays small. */
enum {
    MAX_LAYERS = 1024,
    MAX_DIM = 1 << 18, /* d_model, d_ffn, heads * head_dim; the largest published d_ffn is 53,248 */
    MAX_HEADS = 4096,
    MAX_HEAD_DIM = 1024,
    MAX_CONTEXT = 1 << 24,
    MAX_VOCAB = 1 << 22 /* the largest published vocabularies have about 256,000 entries */
};

struct loader {
    const struct gguf *g;
    struct model *m;
    char arch[32];
    size_t used; /* tensors taken; the file must have no others */
    struct err *e;
};

static int read_config(struct loader *l);
static int read_weights(struct loader *l);

/* ---- opening --------------------------------------------------------------------------------- */

struct model *model_from_gguf(struct gguf *file, struct err *e) {
    struct model *m = calloc(1, sizeof *m);
    if (!m) {
        err_set(e, "out of memory");
        gguf_close(file);
        return NULL;
    }
    m->file = file;
    struct loader l = {.g = file, .m = m, .e = e};
    if (read_config(&l) || read_weights(&l)) {
        hf_model_explain(file, e);
        model_free(m);
        return NULL;
    }
    return m;
}

struct model *model_open(const char *path, struct err *e) {
    struct gguf *g = gguf_open(path, e);
    return g ? model_from_gguf(g, e) : NULL;
}

void model_free(struct model *m) {
    if (!m) return;
    gguf_close(m->file);
    free(m->layers);
    free(m->own_factors);
    free(m);
}

/* ---- configuration --------------------------------------------------------------------------- */

/* "llama" + "attention.head_count" -> "llama.attention.head_count" */
struct key {
    char s[96];
};
static struct key arch_key(const struct loader *l, const char *suffix) {
    struct key k;
    snprintf(k.s, sizeof k.s, "%s.%s", l->arch, suffix);
    return k;
}

/* An integer of the architecture, 1..hi. `fallback` 0: it must be there. */
static int config_int(struct loader *l, const char *suffix, int64_t hi, int64_t fallback,
                      int32_t *out) {
    struct key k = arch_key(l, suffix);
    int64_t v = fallback;
    int rc = gguf_get_int(l->g, k.s, 1, hi, &v, l->e);
    if (rc < 0) return -1;
    if (rc == 1 && fallback == 0)
        return err_at(l->e, 0, k.s, "is missing; the model's shape is not known without it");
    *out = (int32_t)v;
    return 0;
}

/* A float of the architecture, strictly between lo and hi. `fallback` 0: it must be there. */
static int config_float(struct loader *l, const char *suffix, double lo, double hi, double fallback,
                        float *out) {
    struct key k = arch_key(l, suffix);
    double v = fallback;
    int rc = gguf_get_float(l->g, k.s, &v, l->e);
    if (rc < 0) return -1;
    if (rc == 1 && fallback == 0)
        return err_at(l->e, 0, k.s, "is missing; the model can't be computed without it");
    if (!(v > lo && v < hi))
        return err_at(l->e, 0, k.s, "is %g; it must lie between %g and %g", v, lo, hi);
    *out = (float)v;
    return 0;
}

/* The order of the rows in wq and wk: files of "llama" have neighbours (model.h), folders halves.
 */
static int read_layout(struct loader *l) {
    struct key k = arch_key(l, "tensor_data_layout");
    char value[96];
    gguf_show_value(l->g, k.s, value, sizeof value);
    l->m->rope = strcmp(value, "halves") ? ROPE_NEIGHBOURS : ROPE_HALVES;
    if (l->m->rope == ROPE_HALVES || !strcmp(value, "absent") ||
        !strcmp(value, "Meta AI original pth") || !strcmp(value, "reference"))
        return 0;
    return err_at(l->e, 0, k.s,
                  "is %s; only Meta AI original pth, reference or halves is supported, because "
                  "another value changes the model's answers",
                  value);
}

static int read_architecture(struct loader *l) {
    struct gguf_str arch;
    int rc = gguf_get_str(l->g, "general.architecture", &arch, l->e);
    if (rc < 0) return -1;
    if (rc == 1) return err_at(l->e, 0, "general.architecture", "is missing");
    snprintf(l->arch, sizeof l->arch, "%.*s", (int)(arch.n < 31 ? arch.n : 31), arch.s);
    if (gguf_n_tensors(l->g) == 0)
        return err_set(l->e,
                       "holds no weights (0 tensors), only a vocabulary of architecture %s; "
                       "name a file that has the model's weights",
                       l->arch);
    if (!strcmp(l->arch, "llama") && arch.n == 5) return read_layout(l);
    l->m->rope = ROPE_HALVES;
    if (strcmp(l->arch, "qwen2") != 0 || arch.n != 5)
        return err_at(l->e, 0, "general.architecture", "is '%s'; 'llama' and 'qwen2' are read",
                      l->arch);
    return 0;
}

static int read_heads(struct loader *l) {
    struct model_config *c = &l->m->config;
    if (config_int(l, "attention.head_count", MAX_HEADS, 0, &c->n_heads)) return -1;
    if (config_int(l, "attention.head_count_kv", MAX_HEADS, c->n_heads, &c->n_kv_heads)) return -1;
    if (c->n_heads % c->n_kv_heads)
        return err_at(l->e, 0, arch_key(l, "attention.head_count_kv").s,
                      "is %d, which doesn't divide the %d query heads", c->n_kv_heads, c->n_heads);
    /* Older files don't give the head's width: then it is rope.dimension_count, or d_model /
     * n_heads. */
    int32_t rope_dims = c->d_model % c->n_heads ? 0 : c->d_model / c->n_heads;
    if (config_int(l, "rope.dimension_count", MAX_HEAD_DIM, rope_dims, &rope_dims)) return -1;
    if (config_int(l, "attention.key_length", MAX_HEAD_DIM, rope_dims, &c->head_dim)) return -1;
    if (rope_dims != c->head_dim)
        return err_at(l->e, 0, arch_key(l, "rope.dimension_count").s,
                      "is %d where a head has %d; rotating a part of a head is not supported",
                      rope_dims, c->head_dim);
    int32_t value_dim = 0;
    if (config_int(l, "attention.value_length", MAX_HEAD_DIM, c->head_dim, &value_dim)) return -1;
    if (value_dim != c->head_dim)
        return err_at(l->e, 0, arch_key(l, "attention.value_length").s,
                      "is %d where keys have %d; they must agree", value_dim, c->head_dim);
    if (c->head_dim % 2)
        return err_at(l->e, 0, arch_key(l, "attention.key_length").s,
                      "is %d; rope turns pairs, so it must be even", c->head_dim);
    if ((int64_t)c->n_heads * c->head_dim > MAX_DIM)
        return err_at(l->e, 0, arch_key(l, "attention.head_count").s, "%d heads of %d are too many",
                      c->n_heads, c->head_dim);
    return 0;
}

/* Reads the window. Which layers have it is known when the layers are there (read_windowed). A
 * pattern that isn't one bool a layer is not computed: the context is kept inside the window, where
 * windowed attention equals plain attention. 0: no window. */
static int read_window(struct loader *l) {
    struct model_config *c = &l->m->config;
    int64_t window = 0;
    if (gguf_get_int(l->g, arch_key(l, "attention.sliding_window").s, 0, MAX_CONTEXT, &window,
                     l->e) < 0)
        return -1;
    if (window == 0 || window >= c->context_length) return 0;
    bool *pattern = NULL;
    uint64_t n = 0;
    struct key k = arch_key(l, "attention.sliding_window_pattern");
    int rc = gguf_get_bool_array(l->g, k.s, &pattern, &n, NULL);
    free(pattern);
    if (rc == 0 && n != (uint64_t)c->n_layers)
        return err_at(l->e, 0, k.s, "has %llu entries for %d layers", (unsigned long long)n,
                      c->n_layers);
    if (rc < 0)
        c->context_length = (int32_t)window;
    else
        c->window = (int32_t)window;
    return 0;
}

static int read_windowed(struct loader *l) {
    bool *pattern = NULL;
    uint64_t n = 0;
    if (l->m->config.window == 0) return 0;
    if (gguf_get_bool_array(l->g, arch_key(l, "attention.sliding_window_pattern").s, &pattern, &n,
                            l->e) < 0)
        return -1;
    bool any = false;
    for (int32_t i = 0; i < l->m->config.n_layers; i++)
        any |= l->m->layers[i].windowed = !pattern || pattern[i];
    if (!any) l->m->config.window = 0;
    free(pattern);
    return 0;
}

static int read_name(struct loader *l) {
    struct gguf_str name = {l->arch, strlen(l->arch)};
    if (gguf_get_str(l->g, "general.name", &name, l->e) < 0) return -1;
    char *out = l->m->config.name;
    size_t n = 0;
    for (; n < name.n && n + 1 < sizeof l->m->config.name; n++)
        out[n] = name.s[n] < 0x20 || name.s[n] > 0x7e ? '?' : name.s[n];
    out[n] = '\0';
    return 0;
}

static int read_config(struct loader *l) {
    struct model_config *c = &l->m->config;
    if (read_architecture(l) || metadata_check_model(l->g, l->arch, l->e) || read_name(l))
        return -1;
    if (config_int(l, "block_count", MAX_LAYERS, 0, &c->n_layers)) return -1;
    if (config_int(l, "embedding_length", MAX_DIM, 0, &c->d_model)) return -1;
    if (config_int(l, "feed_forward_length", MAX_DIM, 0, &c->d_ffn)) return -1;
    if (config_int(l, "context_length", MAX_CONTEXT, 0, &c->context_length)) return -1;
    if (read_window(l) || read_heads(l)) return -1;
    if (config_float(l, "rope.freq_base", 0, 1e12, 10000, &c->rope_theta)) return -1;
    if (rope_read_scaling(l->g, l->arch, l->m, l->e)) return -1;
    return config_float(l, "attention.layer_norm_rms_epsilon", 0, 1, 0, &c->rms_eps);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* A tensor that must be rows x cols (rows 1: a vector, which must be F32). 0, 1 absent, -1 error.
 */
static int take_optional(struct loader *l, const char *name, int64_t rows, int64_t cols,
                         struct tensor *out) {
    struct tensor t;
    int rc = gguf_get_tensor(l->g, name, &t, l->e);
    if (rc) return rc;
    if (t.rows != rows || t.cols != cols)
        return err_at(l->e, 0, name,
                      "is %d x %d; the configuration asks for %lld x %lld (rows x columns)", t.rows,
                      t.cols, (long long)rows, (long long)cols);
    if (rows == 1 && t.dtype != DTYPE_F32)
        return err_at(l->e, 0, name, "is a vector of type %s; norms and biases must be F32",
                      dtype_name(t.dtype));
    l->used++;
    *out = t;
    return 0;
}

static int take(struct loader *l, const char *name, int64_t rows, int64_t cols,
                struct tensor *out) {
    int rc = take_optional(l, name, rows, cols, out);
    return rc == 1 ? err_at(l->e, 0, name, "this tensor is missing from the file") : rc;
}

static int read_layer(struct loader *l, int32_t i) {
    const struct model_config *c = &l->m->config;
    struct model_layer *y = &l->m->layers[i];
    int64_t q = (int64_t)c->n_heads * c->head_dim, kv = (int64_t)c->n_kv_heads * c->head_dim;
    const struct {
        const char *suffix;
        int64_t rows, cols;
        struct tensor *out;
        bool optional;
    } parts[] = {
        {"attn_norm.weight", 1, c->d_model, &y->attn_norm, false},
        {"attn_q.weight", q, c->d_model, &y->wq, false},
        {"attn_k.weight", kv, c->d_model, &y->wk, false},
        {"attn_v.weight", kv, c->d_model, &y->wv, false},
        {"attn_output.weight", c->d_model, q, &y->wo, false},
        {"attn_q.bias", 1, q, &y->bq, true},
        {"attn_k.bias", 1, kv, &y->bk, true},
        {"attn_v.bias", 1, kv, &y->bv, true},
        {"ffn_norm.weight", 1, c->d_model, &y->ffn_norm, false},
        {"ffn_gate.weight", c->d_ffn, c->d_model, &y->w_gate, false},
        {"ffn_up.weight", c->d_ffn, c->d_model, &y->w_up, false},
        {"ffn_down.weight", c->d_model, c->d_ffn, &y->w_down, false},
    };
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        char name[GGUF_MAX_TENSOR_NAME];
        snprintf(name, sizeof name, "blk.%d.%s", i, parts[p].suffix);
        int rc = parts[p].optional
                     ? take_optional(l, name, parts[p].rows, parts[p].cols, parts[p].out)
                     : take(l, name, parts[p].rows, parts[p].cols, parts[p].out);
        if (rc < 0) return -1;
    }
    return 0;
}

/* The vocabulary's size is the number of rows of the embedding; the key vocab_size, where there is
 * one, must agree. */
static int read_vocab_size(struct loader *l) {
    struct model_config *c = &l->m->config;
    struct tensor t;
    int rc = gguf_get_tensor(l->g, "token_embd.weight", &t, l->e);
    if (rc < 0) return -1;
    if (rc == 1)
        return err_at(l->e, 0, "token_embd.weight", "this tensor is missing from the file");
    if (t.rows > MAX_VOCAB)
        return err_at(l->e, 0, "token_embd.weight", "has %d rows; %d is the most we read", t.rows,
                      MAX_VOCAB);
    if (config_int(l, "vocab_size", MAX_VOCAB, t.rows, &c->vocab_size)) return -1;
    if (c->vocab_size != t.rows)
        return err_at(l->e, 0, arch_key(l, "vocab_size").s,
                      "is %d, but token_embd.weight has %d rows", c->vocab_size, t.rows);
    uint64_t tokens = 0; /* the embedding may be padded, but each token must have its row */
    if (gguf_get_count(l->g, "tokenizer.ggml.tokens", &tokens, l->e) < 0) return -1;
    if (tokens > (uint64_t)t.rows)
        return err_at(l->e, 0, "tokenizer.ggml.tokens",
                      "has %llu tokens, but token_embd.weight has %d rows",
                      (unsigned long long)tokens, t.rows);
    return 0;
}

/* A tensor that the forward pass doesn't use would change the model's answers, or is a mistake of
 * the converter. */
static int refuse_leftovers(struct loader *l) {
    if (l->used == gguf_n_tensors(l->g)) return 0;
    static const char *const known[] = {"token_embd.weight", "output_norm.weight", "output.weight",
                                        "rope_freqs.weight"};
    static const char *const suffixes[] = {
        "attn_norm.weight", "attn_q.weight",   "attn_k.weight", "attn_v.weight",
        "attn_q.bias",      "attn_k.bias",     "attn_v.bias",   "attn_output.weight",
        "ffn_norm.weight",  "ffn_gate.weight", "ffn_up.weight", "ffn_down.weight"};
    for (size_t i = 0; i < gguf_n_tensors(l->g); i++) {
        struct gguf_tensor_info t;
        gguf_tensor_at(l->g, i, &t);
        char name[GGUF_MAX_TENSOR_NAME + 1];
        snprintf(name, sizeof name, "%.*s", (int)t.name.n, t.name.s);
        bool understood = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            understood |= !strcmp(name, known[k]);
        int layer = -1, end = 0;
        if (sscanf(name, "blk.%d.%n", &layer, &end) == 1 && end > 0 && layer >= 0 &&
            layer < l->m->config.n_layers)
            for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++)
                understood |= !strcmp(name + end, suffixes[k]);
        if (!understood)
            return err_at(l->e, 0, name,
                          "a plain %s decoder of %d layers has no such tensor; the file holds a "
                          "variant that is not supported",
                          l->arch, l->m->config.n_layers);
    }
    return err_set(l->e, "the file lists tensors under unusual names (such as blk.01.)");
}

static int take_rope_factors(struct loader *l) {
    struct tensor own = l->m->rope_factors, *t = &l->m->rope_factors;
    int rc = take_optional(l, "rope_freqs.weight", 1, l->m->config.head_dim / 2, t);
    if (rc == 1) return 0;
    if (rc == 0 && own.data)
        return err_at(l->e, 0, "rope_freqs.weight",
                      "is there beside yarn scaling; a model has one of the two");
    for (int32_t i = 0; rc == 0 && i < t->cols; i++) {
        float f; /* the file may align it to less than a float */
        memcpy(&f, (const char *)t->data + (size_t)i * sizeof f, sizeof f);
        if (!(isfinite(f) && f > 0))
            rc = err_at(l->e, 0, "rope_freqs.weight",
                        "value %d is %g; frequencies are divided by it, so it must be positive", i,
                        (double)f);
    }
    return rc < 0 ? -1 : 0;
}

static int read_weights(struct loader *l) {
    struct model *m = l->m;
    const struct model_config *c = &m->config;
    if (read_vocab_size(l)) return -1;
    if (take(l, "token_embd.weight", c->vocab_size, c->d_model, &m->embedding)) return -1;
    if (take(l, "output_norm.weight", 1, c->d_model, &m->final_norm)) return -1;
    int rc = take_optional(l, "output.weight", c->vocab_size, c->d_model, &m->head);
    if (rc < 0) return -1;
    m->config.tied = rc == 1;
    if (m->config.tied) m->head = m->embedding;
    if (take_rope_factors(l)) return -1;
    /* Each layer has at least nine tensors, so a count of layers above the count of tensors is
     * refused before memory is allocated for it. */
    if ((size_t)c->n_layers > gguf_n_tensors(l->g))
        return err_at(l->e, 0, arch_key(l, "block_count").s, "is %d, but the file has %zu tensors",
                      c->n_layers, gguf_n_tensors(l->g));
    m->layers = calloc((size_t)c->n_layers, sizeof *m->layers);
    if (!m->layers) return err_set(l->e, "out of memory for %d layers", c->n_layers);
    for (int32_t i = 0; i < c->n_layers; i++)
        if (read_layer(l, i)) return -1;
    return read_windowed(l) || refuse_leftovers(l) ? -1 : 0;
}
