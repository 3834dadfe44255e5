/* tensor.c: storage types: their names and the bytes of a row. Not here: conversion to float
 * (backend/). */
#include "model/tensor.h"

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
    static const char *const names[] = {
        [0] = "F32",     [1] = "F16",      [2] = "Q4_0",   [3] = "Q4_1",    [6] = "Q5_0",
        [7] = "Q5_1",    [8] = "Q8_0",     [9] = "Q8_1",   [10] = "Q2_K",   [11] = "Q3_K",
        [12] = "Q4_K",   [13] = "Q5_K",    [14] = "Q6_K",  [15] = "Q8_K",   [16] = "IQ2_XXS",
        [17] = "IQ2_XS", [18] = "IQ3_XXS", [19] = "IQ1_S", [20] = "IQ4_NL", [21] = "IQ3_S",
        [22] = "IQ2_S",  [23] = "IQ4_XS",  [24] = "I8",    [25] = "I16",    [26] = "I32",
        [27] = "I64",    [28] = "F64",     [29] = "IQ1_M", [30] = "BF16",   [34] = "TQ1_0",
        [35] = "TQ2_0",  [39] = "MXFP4"};
    size_t i = (size_t)t;
    return i < sizeof names / sizeof *names && names[i] ? names[i] : "?";
}
