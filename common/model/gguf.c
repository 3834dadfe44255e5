/* gguf.c: the GGUF container: header, key and tensor directory, and the parts of a split model.
 *
 * One pass over the header finds the place of every key and tensor and checks that it lies inside
 * the file; after that the getters read without further checks. Refused: version 1, big-endian
 * files, duplicate names, and everything that reaches beyond the file's end. Not here: values of
 * keys (gguf_values.c), and what the keys mean (metadata.c).
 */
#include "model/gguf_internal.h"
#include "model/hf_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "weights are used in place");

static int parse(struct gguf *g, struct err *e);
static int join_parts(struct gguf *g, const char *path, struct err *e);
static struct gguf *opened(struct gguf *g, int rc);
static const struct gguf_str **make_index(const void *records, uint64_t n, size_t stride,
                                          const char *what, struct err *e);

/* ---- opening and closing --------------------------------------------------------------------- */

static struct gguf *new_gguf(struct err *e) {
    struct gguf *g = calloc(1, sizeof *g);
    if (!g) err_set(e, "out of memory");
    return g;
}

struct gguf *gguf_from_parts(uint8_t *header, size_t n, struct tensor_entry *tensors,
                             uint64_t n_tensors, struct err *e) {
    struct gguf *g = new_gguf(e);
    if (!g) {
        free(header);
        free(tensors);
        return NULL;
    }
    g->base = g->own = header;
    g->size = n;
    int rc = parse(g, e);
    free(g->tensors);
    g->tensors = tensors;
    g->n_tensors = n_tensors;
    free(g->tensor_index);
    g->tensor_index = NULL;
    if (rc == 0) {
        g->tensor_index = make_index(tensors, n_tensors, sizeof *tensors, "this tensor", e);
        rc = g->tensor_index ? 0 : -1;
    }
    return opened(g, rc);
}

/* g when rc is 0; else NULL, and g is closed. */
static struct gguf *opened(struct gguf *g, int rc) {
    if (rc == 0) return g;
    gguf_close(g);
    return NULL;
}

struct gguf *gguf_from_memory(const void *bytes, size_t n, struct err *e) {
    struct gguf *g = new_gguf(e);
    if (!g) return NULL;
    g->base = bytes;
    g->size = n;
    return opened(g, parse(g, e) || join_parts(g, NULL, e));
}

/* One file, without the other parts of a split model. */
static struct gguf *open_one(const char *path, struct err *e) {
    struct gguf *g = new_gguf(e);
    if (!g) return NULL;
    int rc = mapping_open(&g->mapping, path, "name a .gguf file or a folder", e);
    g->base = g->mapping.base;
    g->size = g->mapping.size;
    return opened(g, rc || parse(g, e));
}

struct gguf *gguf_open(const char *path, struct err *e) {
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return hf_model_open(path, e);
    struct gguf *g = open_one(path, e);
    return g ? opened(g, join_parts(g, path, e)) : NULL;
}

void gguf_close(struct gguf *g) {
    if (!g) return;
    for (size_t i = 0; i < g->n_parts; i++) gguf_close(g->parts[i]);
    free(g->parts);
    mapping_close(&g->mapping);
    mapping_close(&g->made);
    hf_model_close(g->folder);
    free(g->made_names);
    free(g->own);
    free(g->entries);
    free(g->tensors);
    free(g->entry_index);
    free(g->tensor_index);
    free(g);
}

void gguf_give_back(const struct gguf *g) {
    for (size_t i = 0; i < g->n_parts; i++) gguf_give_back(g->parts[i]);
    mapping_give_back(&g->mapping);
    if (g->folder) hf_model_give_back(g->folder);
}

/* ---- bounded reading ------------------------------------------------------------------------- */

struct cursor {
    const uint8_t *base;
    uint64_t size, pos; /* pos <= size always */
};

static bool take(struct cursor *c, uint64_t n, const uint8_t **out) {
    if (n > c->size - c->pos) return false;
    *out = c->base + c->pos;
    c->pos += n;
    return true;
}

static bool take_u32(struct cursor *c, uint32_t *out) {
    const uint8_t *p;
    if (!take(c, sizeof *out, &p)) return false;
    memcpy(out, p, sizeof *out);
    return true;
}

static bool take_u64(struct cursor *c, uint64_t *out) {
    const uint8_t *p;
    if (!take(c, sizeof *out, &p)) return false;
    memcpy(out, p, sizeof *out);
    return true;
}

static bool take_str(struct cursor *c, struct gguf_str *out) {
    const uint8_t *p;
    if (!take_u64(c, &out->n) || !take(c, out->n, &p)) return false;
    out->s = (const char *)p;
    return true;
}

/* A name for an error message: printable ASCII, shortened. */
struct shown {
    char s[80];
};
static struct shown show(struct gguf_str name) {
    struct shown out;
    size_t n = name.n < sizeof out.s - 1 ? (size_t)name.n : sizeof out.s - 1;
    for (size_t i = 0; i < n; i++)
        out.s[i] = name.s[i] < 0x20 || name.s[i] > 0x7e ? '?' : name.s[i];
    out.s[n] = '\0';
    return out;
}

uint64_t gguf_scalar_bytes(uint32_t type) {
    static const uint8_t bytes[V_N_TYPES] = {
        [V_UINT8] = 1,   [V_INT8] = 1, [V_UINT16] = 2, [V_INT16] = 2, [V_UINT32] = 4, [V_INT32] = 4,
        [V_FLOAT32] = 4, [V_BOOL] = 1, [V_UINT64] = 8, [V_INT64] = 8, [V_FLOAT64] = 8};
    return type < V_N_TYPES ? bytes[type] : 0;
}

/* ---- the pass over the header ---------------------------------------------------------------- */

enum skip_result { SKIP_OK, SKIP_TRUNCATED, SKIP_BAD_TYPE, SKIP_TOO_DEEP };

static enum skip_result skip_array(struct cursor *c, uint32_t elem, uint64_t count, int depth);

static enum skip_result skip_value(struct cursor *c, uint32_t type, int depth) {
    const uint8_t *p;
    struct gguf_str s;
    if (type == V_STRING) return take_str(c, &s) ? SKIP_OK : SKIP_TRUNCATED;
    if (type == V_ARRAY) {
        uint32_t elem;
        uint64_t count;
        if (!take_u32(c, &elem) || !take_u64(c, &count)) return SKIP_TRUNCATED;
        return skip_array(c, elem, count, depth);
    }
    if (!gguf_scalar_bytes(type)) return SKIP_BAD_TYPE;
    return take(c, gguf_scalar_bytes(type), &p) ? SKIP_OK : SKIP_TRUNCATED;
}

/* Every element takes at least one byte, so the file's size bounds the loop. */
static enum skip_result skip_array(struct cursor *c, uint32_t elem, uint64_t count, int depth) {
    const uint8_t *p;
    if (depth >= GGUF_MAX_ARRAY_DEPTH) return SKIP_TOO_DEEP;
    uint64_t each = gguf_scalar_bytes(elem);
    if (each) {
        if (count > (c->size - c->pos) / each) return SKIP_TRUNCATED;
        return take(c, count * each, &p) ? SKIP_OK : SKIP_TRUNCATED;
    }
    for (uint64_t i = 0; i < count; i++) {
        enum skip_result r = skip_value(c, elem, depth + 1);
        if (r != SKIP_OK) return r;
    }
    return elem < V_N_TYPES ? SKIP_OK : SKIP_BAD_TYPE;
}

static int read_entry(struct cursor *c, struct entry *k, uint64_t index, struct err *e) {
    if (!take_str(c, &k->name) || !take_u32(c, &k->type))
        return err_set(e, "the file ends inside metadata key %llu; is the download complete?",
                       (unsigned long long)index);
    struct shown shown = show(k->name);
    const char *name = shown.s;
    if (k->name.n == 0 || k->name.n > GGUF_MAX_KEY_BYTES || memchr(k->name.s, 0, k->name.n))
        return err_at(e, 0, name, "metadata key %llu is empty, too long or holds a NUL byte",
                      (unsigned long long)index);
    if (k->type == V_ARRAY) {
        if (!take_u32(c, &k->elem_type) || !take_u64(c, &k->count))
            return err_at(e, 0, name, "the file ends inside this key; is the download complete?");
    }
    k->value = c->base + c->pos;
    enum skip_result r =
        k->type == V_ARRAY ? skip_array(c, k->elem_type, k->count, 0) : skip_value(c, k->type, 0);
    switch (r) {
    case SKIP_OK:
        return 0;
    case SKIP_TRUNCATED:
        return err_at(e, 0, name,
                      "its value reaches beyond the end of the file; is the download complete?");
    case SKIP_BAD_TYPE:
        return err_at(e, 0, name, "has value type %u, which GGUF doesn't define",
                      k->type == V_ARRAY ? k->elem_type : k->type);
    case SKIP_TOO_DEEP:
        return err_at(e, 0, name, "nests arrays more than %d deep", GGUF_MAX_ARRAY_DEPTH);
    }
    return err_at(e, 0, name, "unreadable");
}

static int read_tensor_entry(struct cursor *c, struct tensor_entry *t, uint64_t index,
                             struct err *e) {
    if (!take_str(c, &t->name) || !take_u32(c, &t->n_dims))
        return err_set(e, "the file ends inside tensor entry %llu; is the download complete?",
                       (unsigned long long)index);
    struct shown name = show(t->name);
    if (t->name.n == 0 || t->name.n > GGUF_MAX_TENSOR_NAME || memchr(t->name.s, 0, t->name.n))
        return err_at(e, 0, name.s, "tensor name %llu is empty, over %d bytes or holds a NUL byte",
                      (unsigned long long)index, GGUF_MAX_TENSOR_NAME);
    if (t->n_dims < 1 || t->n_dims > 4)
        return err_at(e, 0, name.s, "has %u dimensions; GGUF allows 1 to 4", t->n_dims);
    for (uint32_t d = 0; d < t->n_dims; d++) {
        if (!take_u64(c, &t->dims[d]))
            return err_at(e, 0, name.s, "the file ends inside its entry");
        if (t->dims[d] < 1 || t->dims[d] > INT32_MAX)
            return err_at(e, 0, name.s, "dimension %u is %llu; 1 to %d is possible", d,
                          (unsigned long long)t->dims[d], INT32_MAX);
    }
    if (!take_u32(c, &t->type) || !take_u64(c, &t->offset))
        return err_at(e, 0, name.s, "the file ends inside its entry");
    return 0;
}

static int compare_names(struct gguf_str a, struct gguf_str b) {
    int c = memcmp(a.s, b.s, a.n < b.n ? a.n : b.n);
    return c ? c : (a.n > b.n) - (a.n < b.n);
}

static int compare_index(const void *a, const void *b) {
    return compare_names(**(const struct gguf_str *const *)a, **(const struct gguf_str *const *)b);
}

/* Sorts pointers to the names of n records of `stride` bytes. A name that occurs twice is an error,
 * because readers differ in which one they take. */
static const struct gguf_str **make_index(const void *records, uint64_t n, size_t stride,
                                          const char *what, struct err *e) {
    const struct gguf_str **index = malloc((n + 1) * sizeof *index);
    if (!index) {
        err_set(e, "out of memory for %llu names", (unsigned long long)n);
        return NULL;
    }
    for (uint64_t i = 0; i < n; i++) index[i] = (const void *)((const char *)records + i * stride);
    qsort(index, n, sizeof *index, compare_index);
    for (uint64_t i = 1; i < n; i++)
        if (compare_names(*index[i - 1], *index[i]) == 0) {
            err_at(e, 0, show(*index[i]).s, "%s occurs twice in the file", what);
            free(index);
            return NULL;
        }
    return index;
}

const void *gguf_find(const struct gguf_str **index, uint64_t n, const char *name) {
    struct gguf_str key = {name, strlen(name)};
    const struct gguf_str *p = &key;
    const struct gguf_str **hit = bsearch(&p, index, n, sizeof *index, compare_index);
    return hit ? *hit : NULL;
}

static int read_counts(struct gguf *g, struct cursor *c, struct err *e) {
    const uint8_t *magic;
    uint32_t version;
    if (!take(c, 4, &magic) || memcmp(magic, "GGUF", 4) != 0)
        return err_set(e, "not a GGUF file (it doesn't start with the letters GGUF)");
    if (!take_u32(c, &version)) return err_set(e, "the file ends inside its header");
    if ((version & 0xffff) == 0 && version != 0)
        return err_set(e, "a big-endian GGUF file; convert it to little-endian first");
    if (version != 2 && version != 3)
        return err_set(e, "GGUF version %u; versions 2 and 3 are read", version);
    if (!take_u64(c, &g->n_tensors) || !take_u64(c, &g->n_entries))
        return err_set(e, "the file ends inside its header");
    /* A key takes at least 13 bytes (8+4+1), a tensor entry 32 (8+4+8+4+8), so the file's size
     * bounds both counts before memory is allocated for them. */
    uint64_t left = c->size - c->pos;
    if (g->n_entries > GGUF_MAX_KEYS || g->n_entries > left / 13)
        return err_set(e, "claims %llu metadata keys, more than the file can hold (%s)",
                       (unsigned long long)g->n_entries, "limit 65536");
    if (g->n_tensors > GGUF_MAX_TENSORS || g->n_tensors > left / 32)
        return err_set(e, "claims %llu tensors, more than the file can hold (%s)",
                       (unsigned long long)g->n_tensors, "limit 65536");
    return 0;
}

/* Finds where the data starts, and checks that every tensor of a known type lies inside the file.
 */
static int check_extents(struct gguf *g, uint64_t header_end, struct err *e) {
    int64_t align = GGUF_DEFAULT_ALIGNMENT;
    if (gguf_get_int(g, "general.alignment", 8, GGUF_MAX_ALIGNMENT, &align, e) < 0) return -1;
    if (align & (align - 1))
        return err_at(e, 0, "general.alignment", "is %lld, not a power of two", (long long)align);
    g->data_start = (header_end + (uint64_t)align - 1) / (uint64_t)align * (uint64_t)align;
    for (uint64_t i = 0; i < g->n_tensors; i++) {
        struct tensor_entry *t = &g->tensors[i];
        if (t->offset % (uint64_t)align)
            return err_at(e, 0, show(t->name).s,
                          "its data is at offset %llu, not at a multiple of %lld",
                          (unsigned long long)t->offset, (long long)align);
        struct gguf_tensor_info info;
        gguf_tensor_at(g, i, &info);
        if (info.bytes == UINT64_MAX)
            return err_at(e, 0, show(t->name).s,
                          "its dimensions are too large or not a multiple of its type's block");
        if (g->data_start > g->size || t->offset > g->size - g->data_start ||
            info.bytes > g->size - g->data_start - t->offset)
            return err_at(
                e, 0, show(t->name).s,
                "its data reaches beyond the end of the file (%llu bytes at offset %llu of "
                "%llu); is the download complete?",
                (unsigned long long)info.bytes, (unsigned long long)t->offset,
                (unsigned long long)g->size);
        t->data = g->base + g->data_start + t->offset;
    }
    return 0;
}

static int parse(struct gguf *g, struct err *e) {
    struct cursor c = {g->base, g->size, 0};
    if (read_counts(g, &c, e)) return -1;
    g->entries = calloc(g->n_entries + 1, sizeof *g->entries);
    g->tensors = calloc(g->n_tensors + 1, sizeof *g->tensors);
    if (!g->entries || !g->tensors) return err_set(e, "out of memory for the file's directory");
    for (uint64_t i = 0; i < g->n_entries; i++)
        if (read_entry(&c, &g->entries[i], i, e)) return -1;
    g->keys_end = c.pos;
    for (uint64_t i = 0; i < g->n_tensors; i++)
        if (read_tensor_entry(&c, &g->tensors[i], i, e)) return -1;
    g->entry_index =
        make_index(g->entries, g->n_entries, sizeof *g->entries, "this metadata key", e);
    if (!g->entry_index) return -1;
    g->tensor_index = make_index(g->tensors, g->n_tensors, sizeof *g->tensors, "this tensor", e);
    if (!g->tensor_index) return -1;
    return check_extents(g, c.pos, e);
}

/* ---- the parts of a split model -------------------------------------------------------------- */

enum { MAX_PARTS = 512 }; /* a terabyte in parts of 2 GB */

/* The end of the file name of part `no` (from 0), as llama.cpp's llama-gguf-split writes it. */
struct part_suffix {
    char s[56];
};
static struct part_suffix part_suffix(int64_t no, int64_t count) {
    struct part_suffix p;
    snprintf(p.s, sizeof p.s, "-%05lld-of-%05lld.gguf", (long long)no + 1, (long long)count);
    return p;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int read_split(const struct gguf *g, int64_t *no, int64_t *count, struct err *e) {
    *no = 0;
    *count = 1;
    if (gguf_get_int(g, "split.count", 0, MAX_PARTS, count, e) < 0) return -1;
    return gguf_get_int(g, "split.no", 0, *count > 1 ? *count - 1 : 0, no, e) < 0 ? -1 : 0;
}

/* Maps part `no` of `count` at `path` and appends its tensors to g's. */
static int join_part(struct gguf *g, const char *path, int64_t no, int64_t count, struct err *e) {
    struct err why;
    int64_t its_no, its_count;
    struct gguf *part = open_one(path, &why);
    if (part) g->parts[g->n_parts++] = part;
    if (!part || read_split(part, &its_no, &its_count, &why))
        return err_at(e, 0, "split.count",
                      "this is part 1 of %lld; the others must be beside it: '%s'%s%s %s",
                      (long long)count, base_name(path), why.field[0] ? ": " : "", why.field,
                      why.text);
    if (its_no != no || its_count != count)
        return err_at(e, 0, "split.no", "'%s' is part %lld of %lld, not part %lld of %lld",
                      base_name(path), (long long)its_no + 1, (long long)its_count,
                      (long long)no + 1, (long long)count);
    struct tensor_entry *more =
        realloc(g->tensors, (g->n_tensors + part->n_tensors + 1) * sizeof *more);
    if (!more) return err_set(e, "out of memory for the file's directory");
    memcpy(more + g->n_tensors, part->tensors, part->n_tensors * sizeof *more);
    g->tensors = more;
    g->n_tensors += part->n_tensors;
    return 0;
}

/* Joins the other parts to part 1, whose keys describe the whole model. */
static int join_parts(struct gguf *g, const char *path, struct err *e) {
    int64_t no, count, tensors;
    if (read_split(g, &no, &count, e)) return -1;
    if (count < 2) return 0;
    struct part_suffix own = part_suffix(no, count);
    size_t n = path ? strlen(path) : 0, n_own = strlen(own.s);
    if (n < n_own || strcmp(path + n - n_own, own.s) != 0)
        return err_at(
            e, 0, "split.count",
            "this is part %lld of %lld of a split model; its file name must end in %s, so "
            "that the other parts can be found beside it",
            (long long)no + 1, (long long)count, own.s);
    int stem = (int)(n - n_own);
    if (no != 0)
        return err_at(e, 0, "split.no", "this is part %lld of %lld; name part 1, '%.*s%s'",
                      (long long)no + 1, (long long)count, stem, path, part_suffix(0, count).s);
    g->parts = calloc((size_t)count, sizeof *g->parts);
    if (!g->parts) return err_set(e, "out of memory for %lld parts", (long long)count);
    for (int64_t i = 1; i < count; i++) {
        char other[4096];
        snprintf(other, sizeof other, "%.*s%s", stem, path, part_suffix(i, count).s);
        if (join_part(g, other, i, count, e)) return -1;
    }
    tensors = (int64_t)g->n_tensors;
    if (gguf_get_int(g, "split.tensors.count", tensors, tensors, &tensors, e) < 0) return -1;
    free(g->tensor_index);
    g->tensor_index = make_index(g->tensors, g->n_tensors, sizeof *g->tensors, "this tensor", e);
    return g->tensor_index ? 0 : -1;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static bool readable_type(uint32_t type) {
    return type <= INT32_MAX && dtype_row_bytes((enum dtype)type, 32) > 0;
}

/* Bytes of the whole tensor; UINT64_MAX when it has no possible size. Dimensions are within int32,
 * so one product of two fits; the third and fourth are checked. */
static uint64_t tensor_bytes(const struct tensor_entry *t) {
    uint64_t bytes = dtype_row_bytes((enum dtype)t->type, (int64_t)t->dims[0]);
    if (bytes == 0) return UINT64_MAX;
    for (uint32_t d = 1; d < t->n_dims; d++)
        if (__builtin_mul_overflow(bytes, t->dims[d], &bytes)) return UINT64_MAX;
    return bytes;
}

size_t gguf_n_tensors(const struct gguf *g) {
    return g->n_tensors;
}

void gguf_tensor_at(const struct gguf *g, size_t i, struct gguf_tensor_info *out) {
    INVARIANT(i < g->n_tensors);
    const struct tensor_entry *t = &g->tensors[i];
    *out = (struct gguf_tensor_info){.name = t->name,
                                     .type = dtype_name((enum dtype)t->type),
                                     .n_dims = (int32_t)t->n_dims,
                                     .bytes = readable_type(t->type) ? tensor_bytes(t) : 0};
    memcpy(out->dims, t->dims, sizeof out->dims);
}

uint64_t gguf_file_bytes(const struct gguf *g) {
    uint64_t bytes = g->made.base ? g->made.size : g->folder ? hf_model_bytes(g->folder) : g->size;
    for (size_t i = 0; i < g->n_parts; i++) bytes += g->parts[i]->size;
    return bytes;
}

int gguf_get_tensor(const struct gguf *g, const char *name, struct tensor *out, struct err *e) {
    const struct tensor_entry *t = gguf_find(g->tensor_index, g->n_tensors, name);
    if (!t) return 1;
    if (!readable_type(t->type))
        return err_at(e, 0, name,
                      "is stored as %s (type %u); F32, F16, BF16, Q8_0, Q4_0 and Q4_1 are read: "
                      "convert the file with llama.cpp's llama-quantize",
                      dtype_name((enum dtype)t->type), t->type);
    if (t->n_dims > 2)
        return err_at(e, 0, name, "has %u dimensions; at most 2 are read", t->n_dims);
    *out = (struct tensor){.data = t->data,
                           .dtype = (enum dtype)t->type,
                           .rows = t->n_dims == 2 ? (int32_t)t->dims[1] : 1,
                           .cols = (int32_t)t->dims[0]};
    return 0;
}
