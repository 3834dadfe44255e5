/* gguf_keys.h: writes metadata keys as a GGUF file has them, for folders that are read as if they
 * were such a file (hf_model.h). */
#ifndef SERVELAB_MODEL_GGUF_KEYS_H
#define SERVELAB_MODEL_GGUF_KEYS_H

#include "base/buffer.h"
#include "model/gguf_internal.h"

/* Zero-initialised is empty; free `bytes` with buffer_release. When memory runs out, bytes.failed
 * is set, and gguf_keys_finish fails. */
struct gguf_keys {
    struct buffer bytes;
    uint64_t n;
};

void gguf_keys_str(struct gguf_keys *k, const char *key, const char *text, size_t n);
void gguf_keys_puts(struct gguf_keys *k, const char *key, const char *text);
void gguf_keys_int(struct gguf_keys *k, const char *key, int64_t v);
void gguf_keys_float(struct gguf_keys *k, const char *key, double v);
void gguf_keys_bool(struct gguf_keys *k, const char *key, bool v);
/* The head of an array; its `count` elements follow, each with one of the functions below. */
void gguf_keys_array(struct gguf_keys *k, const char *key, enum value_type element, uint64_t count);
void gguf_keys_put_str(struct gguf_keys *k, const char *text, size_t n);
void gguf_keys_put_int32(struct gguf_keys *k, int32_t v);
void gguf_keys_put_bool(struct gguf_keys *k, bool v);
/* One key with its value as another file has it. */
void gguf_keys_copy(struct gguf_keys *k, const struct gguf *from, size_t index);

/* The header of a file without tensors, malloc'ed; releases k in any case. NULL and *e when memory
 * is out. */
uint8_t *gguf_keys_finish(struct gguf_keys *k, size_t *n, struct err *e);

#endif
