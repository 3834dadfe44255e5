/* gguf.h: reads GGUF files (version 2 and 3, little-endian): metadata keys and tensors by name.
 *
 * The file is memory-mapped read-only. Every count, length and offset is checked against the file's
 * size before it is used, so that a truncated or hostile file gives an error that names the key or
 * tensor, not a fault. (A file that is shortened while it is mapped still faults.) Format: ggml
 * project, docs/gguf.md. A Hugging Face folder is opened as if it were such a file.
 */
#ifndef SERVELAB_MODEL_GGUF_H
#define SERVELAB_MODEL_GGUF_H

#include "base/err.h"
#include "model/tensor.h"

#include <stdbool.h>

struct gguf;

enum {
    GGUF_MAX_KEYS = 1 << 16,         /* real files have 20 to 60 */
    GGUF_MAX_TENSORS = 1 << 16,      /* a 126-layer model has about 1,200 */
    GGUF_MAX_KEY_BYTES = 65535,      /* the format's own limit */
    GGUF_MAX_TENSOR_NAME = 64,       /* the format's own limit */
    GGUF_MAX_ARRAY_DEPTH = 4,        /* arrays of arrays; known files have none */
    GGUF_DEFAULT_ALIGNMENT = 32,     /* of tensor data, when general.alignment is absent */
    GGUF_MAX_ALIGNMENT = 1024 * 1024 /* known files use 32 */
};

/* Maps and checks a regular file, or a Hugging Face folder (hf_model.h), which then has the keys
 * and tensors of a GGUF file; from part 1 of a split model (PREFIX-00001-of-00003.gguf) also
 * the other parts, which must be beside it: their tensors are the model's, part 1's keys describe
 * it. NULL and *e naming the key, the tensor or the part. */
struct gguf *gguf_open(const char *path, struct err *e);
/* The same over a file's bytes in memory, which are aligned as malloc does and outlive the result.
 * Parts of a split model are refused. */
struct gguf *gguf_from_memory(const void *bytes, size_t n, struct err *e);
void gguf_close(struct gguf *g);
/* Gives the mapping's resident pages back to the system. They come back from the file when they are
 * read again. */
void gguf_give_back(const struct gguf *g);

/* Metadata by key. Each returns 0; 1 when the key is absent (*out unchanged); -1 and *e when it has
 * another type or is out of range. A string is a view into the file, without a NUL at its end. */
struct gguf_str {
    const char *s;
    uint64_t n;
};
/* Any integer type, within [lo, hi]. */
int gguf_get_int(const struct gguf *g, const char *key, int64_t lo, int64_t hi, int64_t *out,
                 struct err *e);
/* float32 or float64, finite. */
int gguf_get_float(const struct gguf *g, const char *key, double *out, struct err *e);
int gguf_get_bool(const struct gguf *g, const char *key, bool *out, struct err *e);
int gguf_get_str(const struct gguf *g, const char *key, struct gguf_str *out, struct err *e);
/* Whole arrays. *out is malloc'ed and the caller frees it; NULL when the array is empty. */
int gguf_get_str_array(const struct gguf *g, const char *key, struct gguf_str **out, uint64_t *n,
                       struct err *e); /* views into the file */
int gguf_get_bool_array(const struct gguf *g, const char *key, bool **out, uint64_t *n,
                        struct err *e);
/* The number of elements of an array. */
int gguf_get_count(const struct gguf *g, const char *key, uint64_t *n, struct err *e);
int gguf_get_int_array(const struct gguf *g, const char *key, int32_t **out, uint64_t *n,
                       struct err *e);
int gguf_get_float_array(const struct gguf *g, const char *key, float **out, uint64_t *n,
                         struct err *e); /* float32, finite */

/* The value as text for a message: "4", "true", "yarn", "[1, 1, 1, 1, ...]". out holds at least 16
 * bytes; longer text is cut. */
void gguf_show_value(const struct gguf *g, const char *key, char *out, size_t cap);
/* Is the value, or each element of an array (none: true), `text` in that notation? False when the
 * key is not there. */
bool gguf_value_is(const struct gguf *g, const char *key, const char *text);

/* A tensor by name. 0; 1: absent; -1 and *e: a type that isn't read, or more than two dimensions.
 */
int gguf_get_tensor(const struct gguf *g, const char *name, struct tensor *out, struct err *e);

/* The tensors and keys in the file's order. */
struct gguf_tensor_info {
    struct gguf_str name;
    const char *type; /* dtype_name */
    int32_t n_dims;   /* 1..4 */
    uint64_t dims[4]; /* innermost first: a matrix is {cols, rows} */
    uint64_t bytes;   /* 0 for types that aren't read */
};
size_t gguf_n_tensors(const struct gguf *g);
void gguf_tensor_at(const struct gguf *g, size_t i, struct gguf_tensor_info *out);
size_t gguf_n_keys(const struct gguf *g);
struct gguf_str gguf_key_at(const struct gguf *g, size_t i);
uint64_t gguf_file_bytes(const struct gguf *g);

#endif
