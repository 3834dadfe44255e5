/* gguf_internal.h: an open GGUF file, shared by gguf.c (container, tensors) and gguf_values.c
 * (metadata). */
#ifndef SERVELAB_MODEL_GGUF_INTERNAL_H
#define SERVELAB_MODEL_GGUF_INTERNAL_H

#include "model/gguf.h"
#include "model/mapping.h"

/* Metadata value types, numbered as in the file. */
enum value_type {
    V_UINT8,
    V_INT8,
    V_UINT16,
    V_INT16,
    V_UINT32,
    V_INT32,
    V_FLOAT32,
    V_BOOL,
    V_STRING,
    V_ARRAY,
    V_UINT64,
    V_INT64,
    V_FLOAT64,
    V_N_TYPES
};

/* `name` is the first member of both, so that one sorted index of names serves keys and tensors. */
struct entry {
    struct gguf_str name;
    uint32_t type, elem_type; /* elem_type: of an array */
    uint64_t count;           /* of an array */
    const uint8_t *value;     /* the scalar, the string's length, or the array's first element */
};

struct tensor_entry {
    struct gguf_str name;
    uint32_t type, n_dims;
    uint64_t dims[4];
    uint64_t offset;     /* from the start of the data section */
    const uint8_t *data; /* in the mapping of the part that holds it */
};

struct gguf {
    const uint8_t *base;
    uint64_t size, keys_end, data_start;
    struct mapping mapping; /* empty: bytes in memory */
    struct entry *entries;
    struct tensor_entry *tensors;
    uint64_t n_entries, n_tensors;
    const struct gguf_str **entry_index, **tensor_index; /* sorted by name */
    struct gguf **parts; /* parts 2, 3, ... of a split model; their tensors are in `tensors` too */
    size_t n_parts;
    uint8_t *own;            /* memory of the header that was made for a folder; else NULL */
    struct hf_model *folder; /* the folder that the tensors are in; else NULL */
    struct mapping made;     /* memory of made-up weights (backend/synthetic.h); else empty */
    void *made_names;        /* of those tensors */
};

/* A file from a header without tensors (malloc'ed) and tensors whose data lies elsewhere. Takes
 * both in any case. NULL and *e: the header is wrong, or a name occurs twice. */
struct gguf *gguf_from_parts(uint8_t *header, size_t n, struct tensor_entry *tensors,
                             uint64_t n_tensors, struct err *e);

/* Bytes of one scalar; 0 for strings, arrays and numbers that GGUF doesn't define. */
uint64_t gguf_scalar_bytes(uint32_t type);
/* The record (struct entry or tensor_entry) of that name among n, or NULL. */
const void *gguf_find(const struct gguf_str **index, uint64_t n, const char *name);
#endif
