/* dtype.c: the storage types we read: their names and how many bytes a row takes. Not here: turning
 * them into floats (backend/). */
#include "model/model.h"

enum { QUANT_BLOCK = 32 }; /* values that share one scale in Q4_0, Q4_1 and Q8_0 (ggml) */

/* A Q4_0 block is a half-precision scale and 32 nibbles; Q4_1 adds a half-precision minimum; Q8_0
 * is a half-precision scale and 32 bytes. */
size_t dtype_row_bytes(enum dtype t, int64_t cols) {
    if (cols < 0) return 0;
    size_t n = (size_t)cols, blocks = n % QUANT_BLOCK ? 0 : n / QUANT_BLOCK;
    switch (t) {
    case DTYPE_F32:
        return n * 4;
    case DTYPE_F16:
    case DTYPE_BF16:
        return n * 2;
    case DTYPE_Q4_0:
        return blocks * (2 + QUANT_BLOCK / 2);
    case DTYPE_Q4_1:
        return blocks * (4 + QUANT_BLOCK / 2);
    case DTYPE_Q8_0:
        return blocks * (2 + QUANT_BLOCK);
    }
    return 0;
}

const char *dtype_name(enum dtype t) {
    switch (t) {
    case DTYPE_F32:
        return "F32";
    case DTYPE_F16:
        return "F16";
    case DTYPE_BF16:
        return "BF16";
    case DTYPE_Q4_0:
        return "Q4_0";
    case DTYPE_Q4_1:
        return "Q4_1";
    case DTYPE_Q8_0:
        return "Q8_0";
    }
    return "unsupported";
}
