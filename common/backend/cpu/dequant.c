/* dequant.c: whole rows of stored weights to float and back. See dequant.h. Not here: any product.
 */
#include "backend/cpu/dequant.h"

#include "base/err.h"

#include <math.h>

enum { PREFETCH_BYTES = 4096 }; /* the best distance (SPEED.md) */

VEC_INLINE void row_of(enum dtype t, const uint8_t *row, int32_t cols, float *out) {
    vf w[QV];
    int32_t blocks = cols / QBLOCK, tail = cols % QBLOCK;
    const size_t bytes = dtype_block_bytes(t);
    for (int32_t b = 0; b < blocks; b++) {
        for (size_t at = 0; at < bytes; at += 64) /* the rows after this one come next */
            __builtin_prefetch(row + (size_t)b * bytes + PREFETCH_BYTES + at);
        dequant_block(t, row, b, w);
        for (int i = 0; i < QV; i++) vf_store(out + b * QBLOCK + i * VW, w[i]);
    }
    if (!tail) return;
    dequant_tail(t, row, blocks, tail, w);
    for (int i = 0; i < QV; i++) vf_store(out + blocks * QBLOCK + i * VW, w[i]);
}

void dequant_row(const struct tensor *w, int32_t row, float *out) {
    const uint8_t *p = tensor_row(w, row, dtype_row_bytes(w->dtype, w->cols));
    switch (w->dtype) { /* one copy of the loop for each type */
    case DTYPE_F32:
        row_of(DTYPE_F32, p, w->cols, out);
        return;
    case DTYPE_F16:
        row_of(DTYPE_F16, p, w->cols, out);
        return;
    case DTYPE_BF16:
        row_of(DTYPE_BF16, p, w->cols, out);
        return;
    case DTYPE_Q8_0:
        row_of(DTYPE_Q8_0, p, w->cols, out);
        return;
    case DTYPE_Q4_0:
        row_of(DTYPE_Q4_0, p, w->cols, out);
        return;
    case DTYPE_Q4_1:
        row_of(DTYPE_Q4_1, p, w->cols, out);
        return;
    }
    err_bug(__FILE__, __LINE__, "a storage type that the matrix kernels know");
}

static void put_f16(uint8_t *p, float f) {
    uint16_t h = f32_to_f16(f);
    memcpy(p, &h, 2);
}

/* d = greatest magnitude / 127 */
static void quant_q8_0(const float *x, uint8_t *p) {
    float most = 0;
    for (int i = 0; i < QBLOCK; i++) most = fmaxf(most, fabsf(x[i]));
    float d = most / 127, inv = d > 0 ? 1 / d : 0;
    put_f16(p, d);
    for (int i = 0; i < QBLOCK; i++) p[2 + i] = (uint8_t)(int8_t)lrintf(x[i] * inv);
}

/* d = the value of greatest magnitude / -8, so that this value is met exactly by code 0 */
static void quant_q4_0(const float *x, uint8_t *p) {
    float most = 0;
    for (int i = 0; i < QBLOCK; i++)
        if (fabsf(x[i]) > fabsf(most)) most = x[i];
    float d = most / -8, inv = d != 0 ? 1 / d : 0;
    put_f16(p, d);
    memset(p + 2, 0, QBLOCK / 2);
    for (int i = 0; i < QBLOCK; i++) {
        long q = lrintf(x[i] * inv) + 8;
        q = q < 0 ? 0 : q > 15 ? 15 : q;
        p[2 + i % 16] |= (uint8_t)(i < 16 ? q : q << 4);
    }
}

/* m = least value, d = range / 15 */
static void quant_q4_1(const float *x, uint8_t *p) {
    float lo = x[0], hi = x[0];
    for (int i = 1; i < QBLOCK; i++) {
        lo = fminf(lo, x[i]);
        hi = fmaxf(hi, x[i]);
    }
    float d = (hi - lo) / 15, inv = d > 0 ? 1 / d : 0;
    put_f16(p, d);
    put_f16(p + 2, lo);
    memset(p + 4, 0, QBLOCK / 2);
    for (int i = 0; i < QBLOCK; i++) {
        long q = lrintf((x[i] - lo) * inv);
        q = q < 0 ? 0 : q > 15 ? 15 : q;
        p[4 + i % 16] |= (uint8_t)(i < 16 ? q : q << 4);
    }
}

int quant_row(enum dtype t, const float *x, int32_t cols, void *out) {
    if (dtype_row_bytes(t, cols) == 0) return -1;
    uint8_t *p = out;
    if (t == DTYPE_F32) memcpy(p, x, (size_t)cols * 4);
    for (int32_t i = 0; i < cols && (t == DTYPE_F16 || t == DTYPE_BF16); i++) {
        uint16_t h = t == DTYPE_F16 ? f32_to_f16(x[i]) : f32_to_bf16(x[i]);
        memcpy(p + 2 * (size_t)i, &h, 2);
    }
    for (int32_t b = 0; b < cols / QBLOCK; b++) {
        const float *block = x + (size_t)b * QBLOCK;
        if (t == DTYPE_Q8_0) quant_q8_0(block, p + (size_t)b * Q8_0_BYTES);
        if (t == DTYPE_Q4_0) quant_q4_0(block, p + (size_t)b * Q4_0_BYTES);
        if (t == DTYPE_Q4_1) quant_q4_1(block, p + (size_t)b * Q4_1_BYTES);
    }
    return 0;
}
