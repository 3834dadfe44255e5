/* gguf.h: reading GGUF files (version 2 and 3, little-endian).
 *
 * The file is memory-mapped read-only. Every count, length and offset is checked against the file's
 * size before it is used, so that a truncated or hostile file gives an error that names the key or
 * tensor, never a fault. Format: ggml project, docs/gguf.md.
 */
#ifndef SERVELAB_MODEL_GGUF_H
#define SERVELAB_MODEL_GGUF_H

#include "base/err.h"
#include "model/model.h"

struct gguf;

struct gguf *gguf_open(const char *path, struct err *e);
void gguf_close(struct gguf *g);

/* Metadata by key. Each returns 0; 1 when the key is not there (*out unchanged); -1 and *e when it
 * has another type or is out of range. Strings are not NUL-terminated in the file: s and n describe
 * them in place. */
struct gguf_str {
    const char *s;
    uint64_t n;
};
int gguf_get_int(const struct gguf *g, const char *key, int64_t lo, int64_t hi, int64_t *out,
                 struct err *e);
int gguf_get_float(const struct gguf *g, const char *key, double *out, struct err *e);
int gguf_get_bool(const struct gguf *g, const char *key, bool *out, struct err *e);
int gguf_get_str(const struct gguf *g, const char *key, struct gguf_str *out, struct err *e);
/* Arrays: the count; then each element in order through a cursor. */
int gguf_get_str_array(const struct gguf *g, const char *key, struct gguf_str **out, uint64_t *n,
                       struct err *e); /* *out malloc'ed array of views */
int gguf_get_int_array(const struct gguf *g, const char *key, int32_t **out, uint64_t *n,
                       struct err *e); /* *out malloc'ed */

/* A tensor by name, with its data's extent checked. 0, 1 not there, -1 error (unsupported type,
 * more than two dimensions, extent beyond the file). */
int gguf_get_tensor(const struct gguf *g, const char *name, struct tensor *out, struct err *e);

#endif
