/* dequant.h: converts stored weights to floats in registers, 32 at a time.
 *
 * One inline function turns block b of a row into 32/VW vectors, for every storage type of
 * model/model.h. The values are those of the format's definition (ggml project, gguf.md and its
 * block types), rounded once to float:
 *
 *   F32, F16, BF16  w                       exact
 *   Q8_0            d * q                   exact (11 + 8 bits)       block: f16 d, 32 int8
 *   Q4_0            d * (q - 8)             exact                     block: f16 d, 16 bytes
 *   Q4_1            d * q + m               one rounding              block: f16 d, f16 m, 16 bytes
 *
 * In the 4-bit types byte j holds value j (low half) and value j + 16 (high half). Every matrix
 * kernel reads weights through here, so that decode and prefill see the same bits.
 */
#ifndef SERVELAB_BACKEND_CPU_DEQUANT_H
#define SERVELAB_BACKEND_CPU_DEQUANT_H

#include "backend/cpu/rows.h"
#include "backend/cpu/vec.h"
#include "model/tensor.h"

enum {
    QBLOCK = 32,      /* values per quantisation block, of every blocked type */
    QV = QBLOCK / VW, /* vectors per block */
    Q8_0_BYTES = 2 + 32,
    Q4_0_BYTES = 2 + 16,
    Q4_1_BYTES = 4 + 16
};

/* Bytes of 32 values. */
VEC_INLINE size_t dtype_block_bytes(enum dtype t) {
    return t == DTYPE_F32    ? 128
           : t == DTYPE_Q8_0 ? Q8_0_BYTES
           : t == DTYPE_Q4_0 ? Q4_0_BYTES
           : t == DTYPE_Q4_1 ? Q4_1_BYTES
                             : 64;
}

VEC_INLINE uint16_t load_u16(const uint8_t *p) {
    uint16_t h;
    memcpy(&h, p, 2);
    return h;
}

#if VEC_AVX512 || VEC_AVX2
VEC_INLINE vf widen_f16(const uint8_t *p) {
#if VEC_AVX512
    return (vf)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
#else
    return (vf)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
#endif
}
VEC_INLINE vf widen_bf16(const uint8_t *p) {
#if VEC_AVX512
    return (vf)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)), 16);
#else
    return (vf)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16);
#endif
}
VEC_INLINE vf widen_i8(const uint8_t *p) {
#if VEC_AVX512
    return (vf)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
#else
    return (vf)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
#endif
}
/* Widened in 128 bits and then spread: fewer shuffles than spreading first (SPEED.md). */
VEC_INLINE vf splat_f16(const uint8_t *p) {
    __m128 h = _mm_cvtph_ps(_mm_cvtsi32_si128(load_u16(p)));
#if VEC_AVX512
    return (vf)_mm512_broadcastss_ps(h);
#else
    return (vf)_mm256_broadcastss_ps(h);
#endif
}
/* Two neighbours in memory. */
VEC_INLINE void splat_2_f16(const uint8_t *p, vf *a, vf *b) {
    int32_t both;
    memcpy(&both, p, 4);
    __m128 h = _mm_cvtph_ps(_mm_cvtsi32_si128(both));
#if VEC_AVX512
    *a = (vf)_mm512_broadcastss_ps(h);
    *b = (vf)_mm512_broadcastss_ps(_mm_movehdup_ps(h));
#else
    *a = (vf)_mm256_broadcastss_ps(h);
    *b = (vf)_mm256_broadcastss_ps(_mm_movehdup_ps(h));
#endif
}
#else
VEC_INLINE vf widen_f16(const uint8_t *p) {
    float f[VW];
    for (int i = 0; i < VW; i++) f[i] = f16_to_f32(load_u16(p + 2 * i));
    return vf_load(f);
}
VEC_INLINE vf widen_bf16(const uint8_t *p) {
    float f[VW];
    for (int i = 0; i < VW; i++) f[i] = bf16_to_f32(load_u16(p + 2 * i));
    return vf_load(f);
}
VEC_INLINE vf widen_i8(const uint8_t *p) {
    float f[VW];
    for (int i = 0; i < VW; i++) f[i] = (float)(int8_t)p[i];
    return vf_load(f);
}
VEC_INLINE vf splat_f16(const uint8_t *p) {
    return vf_set(f16_to_f32(load_u16(p)));
}
VEC_INLINE void splat_2_f16(const uint8_t *p, vf *a, vf *b) {
    *a = splat_f16(p);
    *b = splat_f16(p + 2);
}
#endif

#if VEC_AVX512
/* 32 4-bit values by a table of the 16 possible ones; the permutation looks only at the low 4 bits
 * of a lane. */
VEC_INLINE void pick_u4(const uint8_t *q, __m512 table, vf w[QV]) {
    __m512i bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)q));
    w[0] = (vf)_mm512_permutexvar_ps(bytes, table);
    w[1] = (vf)_mm512_permutexvar_ps(_mm512_srli_epi32(bytes, 4), table);
}
#endif

/* d * q + m for 32 4-bit values; q as stored, 0..15. */
VEC_INLINE void widen_u4(const uint8_t *q, vf d, vf m, vf w[QV]) {
#if VEC_AVX512
    const __m512 iota = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    pick_u4(q, _mm512_fmadd_ps((__m512)d, iota, (__m512)m), w);
#elif VEC_AVX2
    const __m256i low = _mm256_set1_epi32(15);
    for (int i = 0; i < 2; i++) {
        __m256i b = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(q + 8 * i)));
        w[i] = vf_fma((vf)_mm256_cvtepi32_ps(_mm256_and_si256(b, low)), d, m);
        w[i + 2] = vf_fma((vf)_mm256_cvtepi32_ps(_mm256_srli_epi32(b, 4)), d, m);
    }
#else
    float f[QBLOCK];
    for (int i = 0; i < QBLOCK / 2; i++) {
        f[i] = (float)(q[i] & 15);
        f[i + QBLOCK / 2] = (float)(q[i] >> 4);
    }
    for (int i = 0; i < QV; i++) w[i] = vf_fma(vf_load(f + i * VW), d, m);
#endif
}

/* d * (q - 8) for 32 4-bit values: exact, so the table needs one multiplication. */
VEC_INLINE void widen_u4_minus_8(const uint8_t *q, vf d, vf w[QV]) {
#if VEC_AVX512
    const __m512 codes = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
    pick_u4(q, _mm512_mul_ps((__m512)d, codes), w);
#else
    widen_u4(q, d, d * vf_set(-8.0f), w);
#endif
}

/* Values 32 b .. 32 b + 31 of a row. For speed, `t` is a constant at the place of the call. */
VEC_INLINE void dequant_block(enum dtype t, const uint8_t *row, int32_t b, vf w[QV]) {
    switch (t) {
    case DTYPE_F32:
        for (int i = 0; i < QV; i++) w[i] = vf_load((const float *)(row + b * 128L) + i * VW);
        break;
    case DTYPE_F16:
        for (int i = 0; i < QV; i++) w[i] = widen_f16(row + b * 64L + i * 2 * VW);
        break;
    case DTYPE_BF16:
        for (int i = 0; i < QV; i++) w[i] = widen_bf16(row + b * 64L + i * 2 * VW);
        break;
    case DTYPE_Q8_0: {
        const uint8_t *p = row + b * (long)Q8_0_BYTES;
        vf d = splat_f16(p);
        for (int i = 0; i < QV; i++) w[i] = widen_i8(p + 2 + i * VW) * d;
        break;
    }
    case DTYPE_Q4_0: {
        const uint8_t *p = row + b * (long)Q4_0_BYTES;
        vf d = splat_f16(p);
        widen_u4_minus_8(p + 2, d, w);
        break;
    }
    case DTYPE_Q4_1: {
        const uint8_t *p = row + b * (long)Q4_1_BYTES;
        vf d, m;
        splat_2_f16(p, &d, &m);
        widen_u4(p + 4, d, m, w);
        break;
    }
    }
}

/* The last, partial block of a row (F32, F16 and BF16 only), zero-filled. n: 1..31 values. */
static inline void dequant_tail(enum dtype t, const uint8_t *row, int32_t b, int32_t n, vf w[QV]) {
    uint8_t buf[QBLOCK * 4] = {0};
    size_t bytes = t == DTYPE_F32 ? 4 : 2;
    memcpy(buf, row + (size_t)b * QBLOCK * bytes, (size_t)n * bytes);
    dequant_block(t, buf, 0, w);
}

static inline const uint8_t *tensor_row(const struct tensor *w, int32_t row, size_t row_bytes) {
    return (const uint8_t *)w->data + (size_t)row * row_bytes;
}

#endif
