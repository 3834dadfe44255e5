/* gguf_values.c: the values of metadata keys, by type. See gguf.h; gguf.c has checked that each
 * value lies inside the file. */
#include "model/gguf_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *value_type_name(uint32_t type) {
    static const char *const names[V_N_TYPES] = {
        [V_UINT8] = "uint8",    [V_INT8] = "int8",   [V_UINT16] = "uint16",   [V_INT16] = "int16",
        [V_UINT32] = "uint32",  [V_INT32] = "int32", [V_FLOAT32] = "float32", [V_BOOL] = "bool",
        [V_STRING] = "string",  [V_ARRAY] = "array", [V_UINT64] = "uint64",   [V_INT64] = "int64",
        [V_FLOAT64] = "float64"};
    return type < V_N_TYPES ? names[type] : "unknown";
}

static int wrong_type(const char *key, uint32_t type, const char *wanted, struct err *e) {
    return err_at(e, 0, key, "has type %s where %s is needed", value_type_name(type), wanted);
}

/* The integer at p. False when `type` is not an integer type, or for a uint64 above INT64_MAX. */
static bool read_integer(uint32_t type, const uint8_t *p, int64_t *out) {
    union {
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        uint64_t u64;
        int64_t i64;
    } v = {0};
    if (type == V_FLOAT32 || type == V_FLOAT64 || type == V_BOOL || !gguf_scalar_bytes(type))
        return false;
    memcpy(&v, p, gguf_scalar_bytes(type));
    switch (type) {
    case V_UINT8:
        *out = v.u8;
        return true;
    case V_INT8:
        *out = v.i8;
        return true;
    case V_UINT16:
        *out = v.u16;
        return true;
    case V_INT16:
        *out = v.i16;
        return true;
    case V_UINT32:
        *out = v.u32;
        return true;
    case V_INT32:
        *out = v.i32;
        return true;
    case V_INT64:
        *out = v.i64;
        return true;
    default:
        *out = (int64_t)v.u64;
        return v.u64 <= INT64_MAX;
    }
}

static const struct entry *find_entry(const struct gguf *g, const char *key) {
    return gguf_find(g->entry_index, g->n_entries, key);
}

int gguf_get_int(const struct gguf *g, const char *key, int64_t lo, int64_t hi, int64_t *out,
                 struct err *e) {
    const struct entry *k = find_entry(g, key);
    if (!k) return 1;
    int64_t v;
    if (!read_integer(k->type, k->value, &v)) return wrong_type(key, k->type, "an integer", e);
    if (v < lo || v > hi)
        return err_at(e, 0, key, "is %lld; %lld to %lld is possible", (long long)v, (long long)lo,
                      (long long)hi);
    *out = v;
    return 0;
}

int gguf_get_float(const struct gguf *g, const char *key, double *out, struct err *e) {
    const struct entry *k = find_entry(g, key);
    if (!k) return 1;
    double v;
    if (k->type == V_FLOAT32) {
        float f;
        memcpy(&f, k->value, sizeof f);
        v = f;
    } else if (k->type == V_FLOAT64) {
        memcpy(&v, k->value, sizeof v);
    } else {
        return wrong_type(key, k->type, "a float", e);
    }
    if (!isfinite(v)) return err_at(e, 0, key, "is not a finite number");
    *out = v;
    return 0;
}

int gguf_get_bool(const struct gguf *g, const char *key, bool *out, struct err *e) {
    const struct entry *k = find_entry(g, key);
    if (!k) return 1;
    if (k->type != V_BOOL) return wrong_type(key, k->type, "a bool", e);
    if (k->value[0] > 1) return err_at(e, 0, key, "is %u, neither 0 nor 1", k->value[0]);
    *out = k->value[0];
    return 0;
}

/* The string at p; gguf.c has checked its extent. */
static struct gguf_str string_at(const uint8_t *p) {
    struct gguf_str s;
    memcpy(&s.n, p, sizeof s.n);
    s.s = (const char *)p + sizeof s.n;
    return s;
}

int gguf_get_str(const struct gguf *g, const char *key, struct gguf_str *out, struct err *e) {
    const struct entry *k = find_entry(g, key);
    if (!k) return 1;
    if (k->type != V_STRING) return wrong_type(key, k->type, "a string", e);
    *out = string_at(k->value);
    return 0;
}

/* Finds an array and allocates room for its elements, `bytes` each. */
static int open_array(const struct gguf *g, const char *key, size_t bytes, const struct entry **k,
                      void **room, struct err *e) {
    *k = find_entry(g, key);
    if (!*k) return 1;
    if ((*k)->type != V_ARRAY) return wrong_type(key, (*k)->type, "an array", e);
    *room = (*k)->count ? calloc((*k)->count, bytes) : NULL;
    if ((*k)->count && !*room) return err_at(e, 0, key, "out of memory for its elements");
    return 0;
}

int gguf_get_count(const struct gguf *g, const char *key, uint64_t *n, struct err *e) {
    const struct entry *k = find_entry(g, key);
    if (!k) return 1;
    if (k->type != V_ARRAY) return wrong_type(key, k->type, "an array", e);
    *n = k->count;
    return 0;
}

int gguf_get_str_array(const struct gguf *g, const char *key, struct gguf_str **out, uint64_t *n,
                       struct err *e) {
    const struct entry *k = find_entry(g, key);
    if (k && k->type == V_ARRAY && k->elem_type != V_STRING)
        return wrong_type(key, k->elem_type, "an array of strings", e);
    void *room;
    int rc = open_array(g, key, sizeof **out, &k, &room, e);
    if (rc) return rc;
    *out = room;
    *n = k->count;
    const uint8_t *p = k->value;
    for (uint64_t i = 0; i < k->count; i++) {
        (*out)[i] = string_at(p);
        p += sizeof(uint64_t) + (*out)[i].n;
    }
    return 0;
}

int gguf_get_int_array(const struct gguf *g, const char *key, int32_t **out, uint64_t *n,
                       struct err *e) {
    const struct entry *k;
    void *room;
    int rc = open_array(g, key, sizeof **out, &k, &room, e);
    if (rc) return rc;
    const uint8_t *p = k->value;
    int32_t *values = room;
    for (uint64_t i = 0; i < k->count; i++, p += gguf_scalar_bytes(k->elem_type)) {
        int64_t v;
        if (!read_integer(k->elem_type, p, &v) || v < INT32_MIN || v > INT32_MAX) {
            free(values);
            return err_at(e, 0, key, "element %llu (%s) is not a 32-bit integer",
                          (unsigned long long)i, value_type_name(k->elem_type));
        }
        values[i] = (int32_t)v;
    }
    *out = values;
    *n = k->count;
    return 0;
}

int gguf_get_bool_array(const struct gguf *g, const char *key, bool **out, uint64_t *n,
                        struct err *e) {
    const struct entry *k = find_entry(g, key);
    if (k && k->type == V_ARRAY && k->elem_type != V_BOOL)
        return wrong_type(key, k->elem_type, "an array of bool", e);
    void *room;
    int rc = open_array(g, key, sizeof **out, &k, &room, e);
    if (rc) return rc;
    *out = room;
    *n = k->count;
    for (uint64_t i = 0; i < k->count; i++) (*out)[i] = k->value[i] != 0;
    return 0;
}

int gguf_get_float_array(const struct gguf *g, const char *key, float **out, uint64_t *n,
                         struct err *e) {
    const struct entry *k = find_entry(g, key);
    if (k && k->type == V_ARRAY && k->elem_type != V_FLOAT32)
        return wrong_type(key, k->elem_type, "an array of float32", e);
    void *room;
    int rc = open_array(g, key, sizeof **out, &k, &room, e);
    if (rc) return rc;
    float *values = room;
    if (k->count) memcpy(values, k->value, k->count * sizeof *values);
    for (uint64_t i = 0; i < k->count; i++)
        if (!isfinite(values[i])) {
            free(values);
            return err_at(e, 0, key, "element %llu is not a finite number", (unsigned long long)i);
        }
    *out = values;
    *n = k->count;
    return 0;
}

size_t gguf_n_keys(const struct gguf *g) {
    return g->n_entries;
}

struct gguf_str gguf_key_at(const struct gguf *g, size_t i) {
    INVARIANT(i < g->n_entries);
    return g->entries[i].name;
}

/* ---- values as text -------------------------------------------------------------------------- */

/* A float in the fewest digits that give it back: 6, or as many as its type may need. */
static void show_float(double v, bool single, char *out, size_t cap) {
    snprintf(out, cap, "%g", v);
    double back = single ? (double)strtof(out, NULL) : strtod(out, NULL);
    if (back != v) snprintf(out, cap, "%.*g", single ? 9 : 17, v);
}

/* One scalar or string at p. */
static void show_scalar(uint32_t type, const uint8_t *p, char *out, size_t cap) {
    int64_t i;
    float f;
    double d;
    if (type == V_STRING) {
        struct gguf_str s = string_at(p);
        snprintf(out, cap, "%.*s", (int)(s.n < 64 ? s.n : 64), s.s);
    } else if (type == V_BOOL) {
        snprintf(out, cap, "%s", p[0] ? "true" : "false");
    } else if (type == V_FLOAT32) {
        memcpy(&f, p, sizeof f);
        show_float((double)f, true, out, cap);
    } else if (type == V_FLOAT64) {
        memcpy(&d, p, sizeof d);
        show_float(d, false, out, cap);
    } else if (read_integer(type, p, &i)) {
        snprintf(out, cap, "%lld", (long long)i);
    } else {
        snprintf(out, cap, "of type %s", value_type_name(type));
    }
}

/* Element i of an array follows element i - 1; returns the place after p's value. */
static const uint8_t *after(uint32_t type, const uint8_t *p) {
    return p + (type == V_STRING ? sizeof(uint64_t) + string_at(p).n : gguf_scalar_bytes(type));
}

void gguf_show_value(const struct gguf *g, const char *key, char *out, size_t cap) {
    const struct entry *k = find_entry(g, key);
    if (!k) {
        snprintf(out, cap, "absent");
    } else if (k->type != V_ARRAY) {
        show_scalar(k->type, k->value, out, cap);
    } else if (k->elem_type == V_ARRAY || k->count == 0) {
        snprintf(out, cap, k->count ? "an array of arrays" : "[]");
    } else {
        enum { SHOWN = 4 };
        char one[96];
        size_t at = 0;
        const uint8_t *p = k->value;
        for (uint64_t i = 0; i < k->count && i < SHOWN && at < cap; i++) {
            show_scalar(k->elem_type, p, one, sizeof one);
            at += (size_t)snprintf(out + at, cap - at, "%s%s", i ? ", " : "[", one);
            p = after(k->elem_type, p);
        }
        if (at < cap) snprintf(out + at, cap - at, k->count > SHOWN ? ", ...]" : "]");
    }
}

bool gguf_value_is(const struct gguf *g, const char *key, const char *text) {
    const struct entry *k = find_entry(g, key);
    char one[96];
    if (!k || (k->type == V_ARRAY && k->elem_type == V_ARRAY)) return false;
    uint32_t type = k->type == V_ARRAY ? k->elem_type : k->type;
    const uint8_t *p = k->value;
    for (uint64_t i = 0; i < (k->type == V_ARRAY ? k->count : 1); i++, p = after(type, p)) {
        show_scalar(type, p, one, sizeof one);
        if (strcmp(one, text) != 0) return false;
    }
    return true;
}
