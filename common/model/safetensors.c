/* safetensors.c: see safetensors.h. */
#include "model/safetensors.h"

#include "base/json.h"
#include "model/mapping.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct safetensors {
    struct mapping mapping;
    const uint8_t *base;
    uint64_t size;
    struct safetensor *tensors; /* (n) */
    size_t n;
};

static int read_header(struct safetensors *s, struct err *e);

/* ---- opening --------------------------------------------------------------------------------- */

static struct safetensors *opened(struct safetensors *s, int rc) {
    if (rc == 0) return s;
    safetensors_close(s);
    return NULL;
}

struct safetensors *safetensors_from_memory(const void *bytes, size_t n, struct err *e) {
    struct safetensors *s = calloc(1, sizeof *s);
    if (!s) {
        err_set(e, "out of memory");
        return NULL;
    }
    s->base = bytes;
    s->size = n;
    return opened(s, read_header(s, e));
}

struct safetensors *safetensors_open(const char *path, struct err *e) {
    struct mapping m;
    if (mapping_open(&m, path, "name a .safetensors file", e)) return NULL;
    struct safetensors *s = safetensors_from_memory(m.base, m.size, e);
    if (s)
        s->mapping = m;
    else
        mapping_close(&m);
    return s;
}

void safetensors_close(struct safetensors *s) {
    if (!s) return;
    for (size_t i = 0; i < s->n; i++) free(s->tensors[i].name);
    free(s->tensors);
    mapping_close(&s->mapping);
    free(s);
}

size_t safetensors_count(const struct safetensors *s) {
    return s->n;
}

const struct safetensor *safetensors_at(const struct safetensors *s, size_t i) {
    INVARIANT(i < s->n);
    return &s->tensors[i];
}

uint64_t safetensors_file_bytes(const struct safetensors *s) {
    return s->size;
}

void safetensors_give_back(const struct safetensors *s) {
    mapping_give_back(&s->mapping);
}

/* ---- the header ------------------------------------------------------------------------------ */

/* Bits of one value; 0: not known. F4 and F6 types don't fill whole bytes and aren't read. */
static int dtype_bits(const char *dtype) {
    static const struct {
        const char *name;
        int bits;
    } known[] = {{"BOOL", 8},    {"U8", 8},   {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8},
                 {"F8_E8M0", 8}, {"I16", 16}, {"U16", 16}, {"F16", 16},    {"BF16", 16},
                 {"I32", 32},    {"U32", 32}, {"F32", 32}, {"F64", 64},    {"I64", 64},
                 {"U64", 64},    {"C64", 64}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(dtype, known[i].name)) return known[i].bits;
    return 0;
}

/* A number of a shape or an offset. */
static bool whole(const cJSON *v, uint64_t *out) {
    if (!cJSON_IsNumber(v) || v->valuestring || !(v->valuedouble >= 0) ||
        v->valuedouble > (double)JSON_MAX_INT)
        return false;
    *out = (uint64_t)v->valuedouble;
    return (double)*out == v->valuedouble;
}

static int read_shape(struct safetensor *t, const cJSON *shape, struct err *e) {
    int bits = dtype_bits(t->dtype);
    if (bits == 0) return err_at(e, 0, t->name, "has the type '%s', which isn't known", t->dtype);
    if (!cJSON_IsArray(shape) || cJSON_GetArraySize(shape) > SAFETENSORS_MAX_DIMS)
        return err_at(e, 0, t->name, "its shape is not an array of at most %d numbers",
                      SAFETENSORS_MAX_DIMS);
    t->bytes = (uint64_t)bits / 8;
    const cJSON *d;
    cJSON_ArrayForEach(d, shape) {
        uint64_t *dim = &t->dims[t->n_dims++];
        if (!whole(d, dim))
            return err_at(e, 0, t->name, "its shape has a number that isn't a count");
        if (__builtin_mul_overflow(t->bytes, *dim, &t->bytes))
            return err_at(e, 0, t->name, "its shape is too large");
    }
    return 0;
}

static int read_extent(struct safetensors *s, struct safetensor *t, uint64_t data_start,
                       const cJSON *offsets, struct err *e) {
    uint64_t from, to, room = s->size - data_start;
    if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 ||
        !whole(offsets->child, &from) || !whole(offsets->child->next, &to))
        return err_at(e, 0, t->name, "its data_offsets are not two counts of bytes");
    if (from > to || to > room)
        return err_at(e, 0, t->name,
                      "its data lies from byte %llu to %llu of the %llu that the file has for "
                      "data; is the download complete?",
                      (unsigned long long)from, (unsigned long long)to, (unsigned long long)room);
    if (to - from != t->bytes)
        return err_at(e, 0, t->name, "has %llu bytes of data, but its type and shape need %llu",
                      (unsigned long long)(to - from), (unsigned long long)t->bytes);
    t->data = s->base + data_start + from;
    return 0;
}

static int read_tensor(struct safetensors *s, uint64_t data_start, const cJSON *o, struct err *e) {
    struct safetensor *t = &s->tensors[s->n];
    const cJSON *v, *dtype = NULL, *shape = NULL, *offsets = NULL;
    t->name = strdup(o->string);
    if (!t->name) return err_set(e, "out of memory for the names of tensors");
    s->n++;
    if (!cJSON_IsObject(o)) return err_at(e, 0, t->name, "is not described by a JSON object");
    cJSON_ArrayForEach(v, o) {
        const cJSON **place = !strcmp(v->string, "dtype")          ? &dtype
                              : !strcmp(v->string, "shape")        ? &shape
                              : !strcmp(v->string, "data_offsets") ? &offsets
                                                                   : NULL;
        if (!place)
            return err_at(e, 0, t->name, "has the field '%.40s', which isn't known", v->string);
        *place = v;
    }
    if (!cJSON_IsString(dtype) || !shape || !offsets)
        return err_at(e, 0, t->name, "has no dtype, shape or data_offsets");
    snprintf(t->dtype, sizeof t->dtype, "%s", dtype->valuestring);
    if (read_shape(t, shape, e)) return -1;
    return read_extent(s, t, data_start, offsets, e);
}

static int by_place(const void *a, const void *b) {
    const struct safetensor *x = a, *y = b;
    if (x->data != y->data) return x->data < y->data ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes); /* those without bytes come first */
}

/* The tensors fill the data, without overlaps and gaps. */
static int check_places(struct safetensors *s, uint64_t data_start, struct err *e) {
    const uint8_t *at = s->base + data_start;
    if (s->n) qsort(s->tensors, s->n, sizeof *s->tensors, by_place);
    for (size_t i = 0; i < s->n; i++) {
        const struct safetensor *t = &s->tensors[i];
        if (t->data < at)
            return err_at(e, 0, t->name, "its data overlaps that of %.100s",
                          s->tensors[i - 1].name);
        if (t->data > at)
            return err_at(e, 0, t->name, "no tensor has the %llu bytes before its data",
                          (unsigned long long)(t->data - at));
        at += t->bytes;
    }
    if (at == s->base + s->size) return 0;
    return err_set(e, "no tensor has the last %llu bytes of the file; fetch the file again",
                   (unsigned long long)(s->base + s->size - at));
}

static int read_header(struct safetensors *s, struct err *e) {
    uint64_t n;
    if (s->size < sizeof n)
        return err_set(e, "has %llu bytes; a safetensors file begins with 8 bytes of length",
                       (unsigned long long)s->size);
    memcpy(&n, s->base, sizeof n);
    if (n > SAFETENSORS_MAX_HEADER)
        return err_set(e,
                       "states a header of %llu bytes; %d are the most. Is it a safetensors file?",
                       (unsigned long long)n, SAFETENSORS_MAX_HEADER);
    if (n > s->size - sizeof n)
        return err_set(e, "states a header of %llu bytes, but has %llu; is the download complete?",
                       (unsigned long long)n, (unsigned long long)(s->size - sizeof n));
    struct err why;
    cJSON *header = json_parse((const char *)s->base + sizeof n, n, 1, &why);
    if (!header) return err_at(e, 0, why.field, "the header is not valid JSON: %s", why.text);
    int rc = 0, count = cJSON_IsObject(header) ? cJSON_GetArraySize(header) : -1;
    if (count < 0)
        rc = err_set(e, "the header is not a JSON object");
    else if (count > SAFETENSORS_MAX_TENSORS)
        rc = err_set(e, "has %d tensors; %d are the most", count, SAFETENSORS_MAX_TENSORS);
    else if (!(s->tensors = calloc((size_t)count + 1, sizeof *s->tensors)))
        rc = err_set(e, "out of memory for %d tensors", count);
    const cJSON *o = NULL;
    if (rc == 0) cJSON_ArrayForEach(o, header) {
            if (strcmp(o->string, "__metadata__") != 0) rc = read_tensor(s, sizeof n + n, o, e);
            if (rc) break;
        }
    cJSON_Delete(header);
    return rc ? rc : check_places(s, sizeof n + n, e);
}
