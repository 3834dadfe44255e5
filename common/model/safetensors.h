/* safetensors.h: reads one safetensors file: tensors by name.
 *
 * The file is 8 bytes (the header's length, little-endian), the header (JSON) and the tensors'
 * bytes. It is memory-mapped read-only. The header's length, every type, shape and offset is
 * checked before use: a tensor has as many bytes as its shape and type need, and the tensors
 * together fill the rest of the file, without overlaps and gaps. Format: huggingface/safetensors,
 * README.md. Not here: which file of a model holds which tensor (hf_model.h).
 */
#ifndef SERVELAB_MODEL_SAFETENSORS_H
#define SERVELAB_MODEL_SAFETENSORS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SAFETENSORS_MAX_HEADER = 64 << 20, /* a 126-layer model has about 130 KB */
    SAFETENSORS_MAX_TENSORS = 1 << 16,
    SAFETENSORS_MAX_DIMS = 8
};

struct safetensor {
    char *name;
    char dtype[12]; /* "BF16" */
    int32_t n_dims; /* 0: a single value */
    uint64_t dims[SAFETENSORS_MAX_DIMS];
    const uint8_t *data; /* in the mapping; aligned to 1 byte */
    uint64_t bytes;
};

struct safetensors;

/* NULL and *e, which names the tensor where one is at fault. */
struct safetensors *safetensors_open(const char *path, struct err *e);
/* The same over bytes in memory that outlive the result. */
struct safetensors *safetensors_from_memory(const void *bytes, size_t n, struct err *e);
void safetensors_close(struct safetensors *s);

/* The tensors in order of their data. */
size_t safetensors_count(const struct safetensors *s);
const struct safetensor *safetensors_at(const struct safetensors *s, size_t i);

uint64_t safetensors_file_bytes(const struct safetensors *s);
void safetensors_give_back(const struct safetensors *s); /* mapping.h */

#endif
