/* tensor.h: describes a matrix or vector as a model file stores it, and lists the storage types. */
#ifndef SERVELAB_MODEL_TENSOR_H
#define SERVELAB_MODEL_TENSOR_H

#include <stddef.h>
#include <stdint.h>

/* Storage types, numbered as in GGUF. */
enum dtype {
    DTYPE_F32 = 0,
    DTYPE_F16 = 1,
    DTYPE_Q4_0 = 2,
    DTYPE_Q4_1 = 3,
    DTYPE_Q8_0 = 8,
    DTYPE_BF16 = 30
};

/* A matrix or vector in the mapped file. Row-major: `rows` rows of `cols` values; a vector has one
 * row. */
struct tensor {
    const void *data; /* NULL: the model doesn't have this tensor */
    enum dtype dtype;
    int32_t rows, cols;
};

/* Bytes of one row of `cols` values; 0 when cols is not a multiple of the type's block, or for
 * another type than those above. */
size_t dtype_row_bytes(enum dtype t, int64_t cols);
/* ggml's name of a type ("Q8_0"), also of types that aren't read, for error messages; "?" for a
 * number that ggml doesn't use. */
const char *dtype_name(enum dtype t);

#endif
