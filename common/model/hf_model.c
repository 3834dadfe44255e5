/* hf_model.c: opens a Hugging Face folder: its weights' files, and which tensor is which. See
 * hf_model.h. Not here: config.json (hf_config.c), the tokenizer's files (hf_tokenizer.c), the
 * format of one file (safetensors.c). */
#include "model/hf_model.h"

#include "base/json.h"
#include "model/hf_internal.h"
#include "model/rope.h"
#include "model/safetensors.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ONE_FILE "model.safetensors"
#define INDEX    "model.safetensors.index.json"
enum { MAX_FILES = 512 }; /* a terabyte in files of 2 GB */

struct file {
    char *name;
    struct safetensors *st;
};

/* A tensor of the folder. */
struct item {
    const struct safetensor *t;
    const char *file;
    bool indexed; /* the index names it */
};

struct hf_model {
    struct file *files; /* (n_files) */
    size_t n_files;
    struct item *items; /* (n_items), by name */
    size_t n_items;
    char (*names)[GGUF_MAX_TENSOR_NAME]; /* GGUF's names of the tensors that are used */
    float *vectors;                      /* norms and biases in float32 */
};

/* What is made of a folder before it becomes a struct gguf. */
struct loader {
    const char *folder;
    struct hf_config config;
    struct hf_model *h;
    struct tensor_entry *tensors;
    size_t n;
    struct err *e;
};

static int open_files(struct loader *l);
static int sort_items(struct loader *l);
static int take_tensors(struct loader *l);

static void write_name(const char *folder, struct gguf_keys *k) {
    char path[PATH_MAX];
    const char *whole = realpath(folder, path) ? path : folder, *slash = strrchr(whole, '/');
    gguf_keys_puts(k, "general.name", slash && slash[1] ? slash + 1 : whole);
}

struct gguf *hf_model_open(const char *folder, struct err *e) {
    struct loader l = {.folder = folder, .e = e};
    struct gguf_keys keys = {0};
    struct gguf *g = NULL;
    uint8_t *header = NULL;
    size_t n = 0;
    bool found;
    cJSON *config = hf_read_json(folder, "config.json", &found, e);
    if (!found)
        err_at(e, 0, "config.json",
               "is not in the folder; name a GGUF file, or the folder of a model with its "
               "config.json, tokenizer.json and safetensors");
    l.h = calloc(1, sizeof *l.h);
    if (!l.h) err_set(e, "out of memory");
    write_name(folder, &keys);
    bool ok = config && l.h && hf_config_keys(config, &l.config, &keys, e) == 0 &&
              hf_tokenizer_keys(folder, config, &keys, e) == 0 && open_files(&l) == 0 &&
              take_tensors(&l) == 0;
    if (ok) header = gguf_keys_finish(&keys, &n, e);
    if (header) g = gguf_from_parts(header, n, l.tensors, l.n, e);
    if (g) g->folder = l.h;
    if (!header) free(l.tensors);
    if (!g) hf_model_close(l.h);
    buffer_release(&keys.bytes);
    cJSON_Delete(config);
    return g;
}

void hf_model_close(struct hf_model *h) {
    if (!h) return;
    for (size_t i = 0; i < h->n_files; i++) {
        safetensors_close(h->files[i].st);
        free(h->files[i].name);
    }
    free(h->files);
    free(h->items);
    free(h->names);
    free(h->vectors);
    free(h);
}

void hf_model_give_back(const struct hf_model *h) {
    for (size_t i = 0; i < h->n_files; i++) safetensors_give_back(h->files[i].st);
}

uint64_t hf_model_bytes(const struct hf_model *h) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < h->n_files; i++) bytes += safetensors_file_bytes(h->files[i].st);
    return bytes;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int join(const struct loader *l, const char *file, char path[PATH_MAX]) {
    if (snprintf(path, PATH_MAX, "%s/%s", l->folder, file) < PATH_MAX) return 0;
    return err_set(l->e, "the path of the folder is too long");
}

bool hf_is_there(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

int hf_in_file(const char *file, struct err *e) {
    if (!e) return -1;
    char field[512], line[16] = "";
    if (e->line) snprintf(line, sizeof line, ":%d", e->line);
    snprintf(field, sizeof field, "%s%s%s%s", file, line, e->field[0] ? ": " : "", e->field);
    text_cut(e->field, sizeof e->field, field);
    e->line = 0;
    return -1;
}

cJSON *hf_read_json(const char *folder, const char *file, bool *found, struct err *e) {
    struct loader l = {.folder = folder, .e = e};
    char path[PATH_MAX];
    if (found) *found = true;
    if (join(&l, file, path)) return NULL;
    if (found) *found = hf_is_there(path);
    if (found && !*found) return NULL;
    cJSON *tree = json_parse_file(path, e);
    if (!tree) hf_in_file(file, e);
    return tree;
}

static int open_file(struct loader *l, const char *name) {
    struct hf_model *h = l->h;
    char path[PATH_MAX];
    for (size_t i = 0; i < h->n_files; i++)
        if (!strcmp(h->files[i].name, name)) return 0;
    if (h->n_files == MAX_FILES) {
        err_set(l->e, "names more than %d files", MAX_FILES);
        return hf_in_file(INDEX, l->e);
    }
    struct file *more = realloc(h->files, (h->n_files + 1) * sizeof *more);
    if (more) h->files = more;
    char *copy = more ? strdup(name) : NULL;
    if (!copy) return err_set(l->e, "out of memory for the list of files");
    h->files[h->n_files++] = (struct file){copy, NULL};
    if (join(l, name, path)) return -1;
    struct file *f = &h->files[h->n_files - 1];
    f->st = safetensors_open(path, l->e);
    return f->st ? 0 : hf_in_file(name, l->e);
}

/* A file's name, without a folder before it. */
static bool is_plain(const char *name) {
    size_t n = strlen(name), end = strlen(".safetensors");
    return n > end && n < 200 && name[0] != '.' && !strchr(name, '/') &&
           !strcmp(name + n - end, ".safetensors");
}

static int open_indexed(struct loader *l, const cJSON *map) {
    const cJSON *v;
    if (!cJSON_IsObject(map) || !map->child) {
        err_at(l->e, 0, "weight_map", "is not a JSON object with the file of each tensor");
        return hf_in_file(INDEX, l->e);
    }
    cJSON_ArrayForEach(v, map) {
        if (!cJSON_IsString(v) || !is_plain(v->valuestring)) {
            err_at(l->e, 0, v->string,
                   "its file is not named as a .safetensors file of the folder");
            return hf_in_file(INDEX, l->e);
        }
        char path[PATH_MAX];
        if (join(l, v->valuestring, path)) return -1;
        if (!hf_is_there(path)) {
            err_at(l->e, 0, v->string,
                   "is in '%.120s', which is not in the folder; fetch that file", v->valuestring);
            return hf_in_file(INDEX, l->e);
        }
        if (open_file(l, v->valuestring)) return -1;
    }
    return 0;
}

static struct item *find_item(const struct hf_model *h, const char *name);

/* Each tensor is in the file that the index says, and the files have no others. */
static int check_index(struct loader *l, const cJSON *map) {
    struct hf_model *h = l->h;
    const cJSON *v;
    cJSON_ArrayForEach(v, map) {
        struct item *item = find_item(h, v->string);
        if (!item || strcmp(item->file, v->valuestring) != 0) {
            err_at(l->e, 0, v->string, "is not in '%.120s', where the index says it is%s%.120s",
                   v->valuestring, item ? ", but in " : "; fetch that file again",
                   item ? item->file : "");
            return hf_in_file(INDEX, l->e);
        }
        item->indexed = true;
    }
    for (size_t i = 0; i < h->n_items; i++)
        if (!h->items[i].indexed) {
            err_at(l->e, 0, h->items[i].t->name, "is in '%.120s', but the index doesn't name it",
                   h->items[i].file);
            return hf_in_file(INDEX, l->e);
        }
    return 0;
}

static int open_files(struct loader *l) {
    char path[PATH_MAX];
    if (join(l, ONE_FILE, path)) return -1;
    if (hf_is_there(path)) return open_file(l, ONE_FILE) || sort_items(l) ? -1 : 0;
    bool found;
    cJSON *index = hf_read_json(l->folder, INDEX, &found, l->e);
    if (!found)
        return err_set(l->e, "has neither " ONE_FILE " nor " INDEX
                             "; name the folder of a model that was "
                             "saved as safetensors");
    if (!index) return -1;
    const cJSON *map = cJSON_GetObjectItemCaseSensitive(index, "weight_map");
    int rc = open_indexed(l, map) || sort_items(l) || check_index(l, map) ? -1 : 0;
    cJSON_Delete(index);
    return rc;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct item *)a)->t->name, ((const struct item *)b)->t->name);
}

static struct item *find_item(const struct hf_model *h, const char *name) {
    struct safetensor t = {.name = (char *)(uintptr_t)name};
    struct item key = {.t = &t};
    return h->n_items ? bsearch(&key, h->items, h->n_items, sizeof key, by_name) : NULL;
}

static int sort_items(struct loader *l) {
    struct hf_model *h = l->h;
    size_t n = 0;
    for (size_t i = 0; i < h->n_files; i++) n += safetensors_count(h->files[i].st);
    free(h->items);
    h->items = calloc(n + 1, sizeof *h->items);
    h->n_items = 0;
    if (!h->items) return err_set(l->e, "out of memory for %zu tensors", n);
    for (size_t i = 0; i < h->n_files; i++)
        for (size_t k = 0; k < safetensors_count(h->files[i].st); k++)
            h->items[h->n_items++] =
                (struct item){safetensors_at(h->files[i].st, k), h->files[i].name, false};
    qsort(h->items, n, sizeof *h->items, by_name);
    for (size_t i = 1; i < n; i++)
        if (!strcmp(h->items[i - 1].t->name, h->items[i].t->name))
            return err_at(l->e, 0, h->items[i].t->name, "is in '%.120s' and again in '%.120s'",
                          h->items[i - 1].file, h->items[i].file);
    return 0;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static const struct {
    const char *hf, *gguf;
} names[] = {{"model.embed_tokens.weight", "token_embd.weight"},
             {"model.norm.weight", "output_norm.weight"},
             {"lm_head.weight", "output.weight"}},
  layer_names[] = {{"input_layernorm.weight", "attn_norm.weight"},
                   {"self_attn.q_proj.weight", "attn_q.weight"},
                   {"self_attn.k_proj.weight", "attn_k.weight"},
                   {"self_attn.v_proj.weight", "attn_v.weight"},
                   {"self_attn.o_proj.weight", "attn_output.weight"},
                   {"self_attn.q_proj.bias", "attn_q.bias"},
                   {"self_attn.k_proj.bias", "attn_k.bias"},
                   {"self_attn.v_proj.bias", "attn_v.bias"},
                   {"post_attention_layernorm.weight", "ffn_norm.weight"},
                   {"mlp.gate_proj.weight", "ffn_gate.weight"},
                   {"mlp.up_proj.weight", "ffn_up.weight"},
                   {"mlp.down_proj.weight", "ffn_down.weight"}};
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* "blk.3.attn_q.weight" from "model.layers.3.self_attn.q_proj.weight", and back with `to_hf`. False
 * for other names. */
static bool translate(const char *name, bool to_hf, char *out, size_t cap) {
    const char *from = to_hf ? "blk." : "model.layers.", *to = to_hf ? "model.layers." : "blk.";
    for (size_t i = 0; i < COUNT(names); i++)
        if (!strcmp(name, to_hf ? names[i].gguf : names[i].hf)) {
            snprintf(out, cap, "%s", to_hf ? names[i].hf : names[i].gguf);
            return true;
        }
    if (strncmp(name, from, strlen(from)) != 0) return false;
    const char *number = name + strlen(from);
    size_t digits = strspn(number, "0123456789");
    if (digits == 0 || digits > 9 || (number[0] == '0' && digits > 1) || number[digits] != '.')
        return false;
    for (size_t i = 0; i < COUNT(layer_names); i++)
        if (!strcmp(number + digits + 1, to_hf ? layer_names[i].gguf : layer_names[i].hf)) {
            snprintf(out, cap, "%s%.*s.%s", to, (int)digits, number,
                     to_hf ? layer_names[i].hf : layer_names[i].gguf);
            return true;
        }
    return false;
}

/* Tensors that a model doesn't compute with: the head of a tied model, which is the embedding, and
 * the frequencies that old files carry, which config.json gives. */
static bool is_unused(const struct loader *l, const char *name) {
    static const char tail[] = ".rotary_emb.inv_freq";
    size_t n = strlen(name), k = strlen(tail);
    return (l->config.tied && !strcmp(name, "lm_head.weight")) ||
           (n > k && !strcmp(name + n - k, tail));
}

static int tensor_at_fault(struct loader *l, const struct item *item, const char *why) {
    err_at(l->e, 0, item->t->name, "%s", why);
    return hf_in_file(item->file, l->e);
}

static int check_tensor(struct loader *l, const struct item *item, enum dtype *type) {
    static const struct {
        const char *name;
        enum dtype type;
        uintptr_t align;
    } types[] = {{"F32", DTYPE_F32, 4}, {"F16", DTYPE_F16, 2}, {"BF16", DTYPE_BF16, 2}};
    const struct safetensor *t = item->t;
    size_t i = 0;
    while (i < COUNT(types) && strcmp(types[i].name, t->dtype) != 0) i++;
    if (i == COUNT(types)) {
        err_at(l->e, 0, t->name,
               "is stored as %s; F32, F16 and BF16 are read: save the model in one of them",
               t->dtype);
        return hf_in_file(item->file, l->e);
    }
    *type = types[i].type;
    if ((uintptr_t)t->data % types[i].align)
        return tensor_at_fault(l, item,
                               "its data is not aligned to its type; save the file again with the "
                               "safetensors library");
    if (t->n_dims < 1 || t->n_dims > 2)
        return tensor_at_fault(l, item, "is neither a matrix nor a vector");
    for (int32_t d = 0; d < t->n_dims; d++)
        if (t->dims[d] < 1 || t->dims[d] > INT32_MAX)
            return tensor_at_fault(l, item, "has a side that is 0 or too large");
    return 0;
}

static float widen(enum dtype type, const uint8_t *p) {
    uint16_t half;
    uint32_t bits;
    float f;
    if (type == DTYPE_F32) {
        memcpy(&f, p, sizeof f);
        return f;
    }
    memcpy(&half, p, sizeof half);
    if (type == DTYPE_BF16) {
        bits = (uint32_t)half << 16;
        memcpy(&f, &bits, sizeof f);
        return f;
    }
    int exponent = half >> 10 & 31, m = half & 1023;
    f = exponent == 0    ? ldexpf((float)m, -24)
        : exponent == 31 ? (m ? NAN : INFINITY)
                         : ldexpf((float)(1024 + m), exponent - 25);
    return half & 0x8000 ? -f : f;
}

/* Norms and biases, which backends take in float32. `at`: room for the vector. */
static float *take_vector(struct tensor_entry *entry, enum dtype type, float *at) {
    size_t n = (size_t)entry->dims[0], bytes = type == DTYPE_F32 ? 4 : 2;
    for (size_t i = 0; i < n; i++) at[i] = widen(type, entry->data + i * bytes);
    entry->type = DTYPE_F32;
    entry->data = (const uint8_t *)at;
    return at + n;
}

static int take_tensor(struct loader *l, const struct item *item, float **at) {
    char *name = l->h->names[l->n];
    enum dtype type = DTYPE_F32;
    if (!translate(item->t->name, false, name, sizeof l->h->names[0]))
        return tensor_at_fault(
            l, item,
            "a plain decoder of this family has no such tensor; the folder holds "
            "a variant that is not supported");
    if (check_tensor(l, item, &type)) return -1;
    const struct safetensor *t = item->t;
    bool matrix = t->n_dims == 2;
    struct tensor_entry *entry = &l->tensors[l->n++];
    *entry = (struct tensor_entry){.name = {name, strlen(name)},
                                   .type = type,
                                   .n_dims = (uint32_t)t->n_dims,
                                   .dims = {t->dims[matrix], matrix ? t->dims[0] : 0},
                                   .data = t->data};
    if (!matrix) *at = take_vector(entry, type, *at);
    return 0;
}

/* Llama 3.1's factors, as a GGUF file has them. */
static void take_factors(struct loader *l, float *at) {
    const struct hf_config *c = &l->config;
    static const char name[] = "rope_freqs.weight";
    rope_llama3_factors(at, (int32_t)c->head_dim, c->theta, c->factor, c->low, c->high,
                        c->original);
    l->tensors[l->n++] = (struct tensor_entry){.name = {name, strlen(name)},
                                               .type = DTYPE_F32,
                                               .n_dims = 1,
                                               .dims = {(uint64_t)c->head_dim / 2},
                                               .data = (const uint8_t *)at};
}

static int take_tensors(struct loader *l) {
    struct hf_model *h = l->h;
    /* model.c refuses wider heads; a factor's room is never more than this. */
    enum { MOST_FACTORS = 512 };
    size_t floats = MOST_FACTORS;
    for (size_t i = 0; i < h->n_items; i++)
        if (h->items[i].t->n_dims == 1) floats += h->items[i].t->dims[0];
    h->names = calloc(h->n_items + 1, sizeof *h->names);
    h->vectors = calloc(floats, sizeof *h->vectors);
    l->tensors = calloc(h->n_items + 1, sizeof *l->tensors);
    if (!h->names || !h->vectors || !l->tensors)
        return err_set(l->e, "out of memory for %zu tensors", h->n_items);
    float *at = h->vectors + MOST_FACTORS;
    for (size_t i = 0; i < h->n_items; i++)
        if (!is_unused(l, h->items[i].t->name) && take_tensor(l, &h->items[i], &at)) return -1;
    if (l->config.llama3 && l->config.head_dim >= 2 && l->config.head_dim <= 2 * MOST_FACTORS)
        take_factors(l, h->vectors);
    if (l->config.tied || find_item(h, "lm_head.weight")) return 0;
    err_at(l->e, 0, "lm_head.weight",
           "this tensor is missing, and tie_word_embeddings is not true in config.json");
    return -1;
}

/* ---- errors ---------------------------------------------------------------------------------- */

void hf_model_explain(const struct gguf *g, struct err *e) {
    if (!g->folder || !e || !e->field[0]) return;
    char name[sizeof e->field];
    const char *dot = strchr(e->field, '.'), *field = NULL;
    if (translate(e->field, true, name, sizeof name)) {
        const struct item *item = find_item(g->folder, name);
        memcpy(e->field, name, sizeof name);
        if (item) hf_in_file(item->file, e);
    } else if (!strcmp(e->field, "tokenizer.ggml.model")) {
        err_at(e, 0, "tokenizer.json",
               "is not in the folder; save the tokenizer with transformers, which makes it from "
               "tokenizer.model too");
    } else if (!strncmp(e->field, "tokenizer.ggml.", 15)) {
        memmove(e->field, e->field + 15, strlen(e->field + 15) + 1);
        hf_in_file("tokenizer.json", e);
    } else if (dot && (field = hf_config_field(dot + 1))) {
        snprintf(e->field, sizeof e->field, "%s", field);
        hf_in_file("config.json", e);
    }
}
