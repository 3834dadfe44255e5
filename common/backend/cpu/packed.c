/* packed.c: packs weights, rounds activations, and multiplies them as integers. See packed.h for
 * the arithmetic and the layout. Not here: the same for BF16 (packed_bf16.c), to which each
 * function goes over, and sharing among threads (matmul.c).
 */
#include "backend/cpu/packed.h"

#include "backend/cpu/dequant.h"
#include "backend/cpu/packed_bf16.h"
#include "base/err.h"

enum {
    QUARTERS = QBLOCK / 4, /* groups of four columns in a block: one vector instruction each */
    /* Tokens whose sums and the block's codes fit the registers. */
    TILE_TOKENS = VEC_REGISTERS >= 32 ? 8 : 4,
    PREFETCH_BYTES = 4096,     /* the best distance on this machine class (SPEED.md) */
    X_BLOCK_BYTES = QBLOCK + 8 /* of one token: codes, scale, minus the sum of the codes */
};

/* ---- weights --------------------------------------------------------------------------------- */

bool packed_has(enum dtype t) {
    return t == DTYPE_Q8_0 || t == DTYPE_Q4_0 || t == DTYPE_Q4_1 || t == DTYPE_BF16;
}
enum packed_x packed_x_of(enum dtype t) {
    return t == DTYPE_BF16 ? PACKED_X_BF16 : PACKED_X_INT8;
}

VEC_INLINE size_t code_bytes(enum dtype t) { /* of 16 rows of a block */
    return PACKED_ROWS * (t == DTYPE_Q8_0 ? QBLOCK : QBLOCK / 2);
}
VEC_INLINE size_t stored_header(enum dtype t) { /* of a stored block: d, or d and m */
    return t == DTYPE_Q4_1 ? 4 : 2;
}

size_t packed_group_bytes(enum dtype t, int32_t cols) {
    if (t == DTYPE_BF16) return packed_bf16_group_bytes(cols);
    return (dtype_row_bytes(t, cols) * PACKED_ROWS + 63) / 64 * 64;
}

/* Where the scales of block 0 are, after the codes; the minima follow them. */
VEC_INLINE size_t scales_at(enum dtype t, int32_t blocks) {
    return (size_t)blocks * code_bytes(t);
}
VEC_INLINE size_t minima_at(enum dtype t, int32_t blocks) {
    return scales_at(t, blocks) + (size_t)blocks * PACKED_ROWS * 2;
}

/* Where byte i of the codes of a stored block is: of row r of the group, block b. */
VEC_INLINE size_t code_at(enum dtype t, int32_t b, int32_t r, size_t i) {
    return (size_t)b * code_bytes(t) + i / 4 * 4 * PACKED_ROWS + (size_t)r * 4 + i % 4;
}
VEC_INLINE uint8_t shifted(enum dtype t, uint8_t code) { /* by 128, and back */
    return t == DTYPE_Q8_0 ? code ^ 0x80 : code;
}

void packed_group(enum dtype t, int32_t cols, const void *const rows[PACKED_ROWS], void *out) {
    if (t == DTYPE_BF16) {
        packed_bf16_group(cols, rows, out);
        return;
    }
    INVARIANT(packed_has(t) && cols % QBLOCK == 0);
    int32_t blocks = cols / QBLOCK;
    size_t header = stored_header(t), stored = dtype_block_bytes(t);
    uint8_t *p = out, zero[Q8_0_BYTES] = {0};
    for (int32_t b = 0; b < blocks; b++)
        for (int32_t r = 0; r < PACKED_ROWS; r++) {
            const uint8_t *from = rows[r] ? (const uint8_t *)rows[r] + (size_t)b * stored : zero;
            for (size_t i = 0; i < stored - header; i++)
                p[code_at(t, b, r, i)] = shifted(t, from[header + i]);
            size_t at = ((size_t)b * PACKED_ROWS + (size_t)r) * 2;
            memcpy(p + scales_at(t, blocks) + at, from, 2);
            if (t == DTYPE_Q4_1) memcpy(p + minima_at(t, blocks) + at, from + 2, 2);
        }
}

void packed_row(const struct tensor *w, const void *groups, int32_t row, float *out) {
    enum dtype t = w->dtype;
    if (t == DTYPE_BF16) {
        packed_bf16_row(w, groups, row, out);
        return;
    }
    int32_t blocks = w->cols / QBLOCK, r = row % PACKED_ROWS;
    size_t header = stored_header(t), stored = dtype_block_bytes(t);
    const uint8_t *p =
        (const uint8_t *)groups + (size_t)(row / PACKED_ROWS) * packed_group_bytes(t, w->cols);
    for (int32_t b = 0; b < blocks; b++) {
        uint8_t block[Q8_0_BYTES]; /* as it was stored */
        size_t at = ((size_t)b * PACKED_ROWS + (size_t)r) * 2;
        memcpy(block, p + scales_at(t, blocks) + at, 2);
        if (t == DTYPE_Q4_1) memcpy(block + 2, p + minima_at(t, blocks) + at, 2);
        for (size_t i = 0; i < stored - header; i++)
            block[header + i] = shifted(t, p[code_at(t, b, r, i)]);
        dequant_row(&(struct tensor){block, t, 1, QBLOCK}, 0, out + (size_t)b * QBLOCK);
    }
}

/* ---- activations ----------------------------------------------------------------------------- */

/* Tokens are multiplied in tiles of TILE_TOKENS, then 4, 2 and 1. A tile of n tokens holds, for
 * each block, the codes (quarter, token, 4), the scales (token) and minus the sums of the codes
 * (token). It begins at `first * blocks * X_BLOCK_BYTES` whatever its width is. */
static int32_t tile_width(int32_t left) {
    int32_t n = TILE_TOKENS;
    while (n > left) n /= 2;
    return n;
}

size_t packed_x_bytes(enum packed_x to, int32_t tokens, int32_t cols) {
    if (to == PACKED_X_BF16) return packed_bf16_x_bytes(tokens, cols);
    return ((size_t)tokens * (size_t)(cols / QBLOCK) * X_BLOCK_BYTES + 63) / 64 * 64;
}

/* Returns the scale. */
static float round_block(const float *x, int8_t codes[QBLOCK]) {
    int32_t most_bits = 0;
    for (int i = 0; i < QBLOCK; i++) {
        int32_t bits;
        memcpy(&bits, x + i, 4);
        bits &= 0x7fffffff; /* magnitudes compare as integers; NaN is above infinity */
        most_bits = bits > most_bits ? bits : most_bits;
    }
    float most;
    memcpy(&most, &most_bits, 4);
    memset(codes, 0, QBLOCK);
    if (!(most < INFINITY)) return NAN;
    if (most < 0x1p-119f) return 0;                        /* 127 / most could overflow */
    const float inverse = 127 / most, magic = 12582912.0f; /* 1.5 * 2^23: its sum is rounded */
    for (int i = 0; i < QBLOCK; i++) {
        float f = fmaf(x[i], inverse, magic);
        int32_t bits;
        memcpy(&bits, &f, 4);
        codes[i] = (int8_t)bits; /* the low byte of 1.5 * 2^23 + code */
    }
    return most / 127;
}

void packed_x_row(enum packed_x to, const float *x, int32_t cols, int32_t token, int32_t tokens,
                  void *out) {
    if (to == PACKED_X_BF16) {
        packed_bf16_x_row(x, cols, token, out);
        return;
    }
    int32_t blocks = cols / QBLOCK, first = token / TILE_TOKENS * TILE_TOKENS, n;
    while (first + (n = tile_width(tokens - first)) <= token) first += n;
    uint8_t *p = (uint8_t *)out + (size_t)first * (size_t)blocks * X_BLOCK_BYTES;
    size_t lane = (size_t)(token - first) * 4, width = (size_t)n * 4;
    for (int32_t b = 0; b < blocks; b++, p += (size_t)n * X_BLOCK_BYTES) {
        int8_t codes[QBLOCK];
        float scale = round_block(x + (size_t)b * QBLOCK, codes);
        int32_t minus_sum = 0;
        for (int i = 0; i < QBLOCK; i++) minus_sum -= codes[i];
        for (size_t q = 0; q < QUARTERS; q++) memcpy(p + q * width + lane, codes + 4 * q, 4);
        memcpy(p + QUARTERS * width + lane, &scale, 4);
        memcpy(p + (QUARTERS + 1) * width + lane, &minus_sum, 4);
    }
}

/* ---- products -------------------------------------------------------------------------------- */

/* sum + w . x for VW rows: each lane has four unsigned codes of a row; x has the four signed codes
 * of a token. `small`: no weight code is above 15. */
VEC_INLINE vi dot4(vi sum, vi w, int32_t x, bool small) {
#if VEC_AVX512 && defined(__AVX512VNNI__)
    (void)small;
    return (vi)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)w, _mm512_set1_epi32(x));
#elif VEC_AVX512
    const __m512i xs = _mm512_set1_epi32(x), ones = _mm512_set1_epi16(1);
    const __m512i top = _mm512_set1_epi8((char)0x80);
    __m512i low = small ? (__m512i)w : _mm512_andnot_si512(top, (__m512i)w);
    sum += (vi)_mm512_madd_epi16(_mm512_maddubs_epi16(low, xs), ones);
    if (small) return sum;
    __m512i high = _mm512_and_si512(top, (__m512i)w);
    return sum + (vi)_mm512_madd_epi16(_mm512_maddubs_epi16(high, xs), ones);
#elif VEC_AVX2 && defined(__AVXVNNI__)
    (void)small;
    return (vi)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)w, _mm256_set1_epi32(x));
#elif VEC_AVX2
    /* Sums of two products must fit 16 bits: the codes' highest bit is multiplied apart. */
    const __m256i xs = _mm256_set1_epi32(x), ones = _mm256_set1_epi16(1);
    const __m256i top = _mm256_set1_epi8((char)0x80);
    __m256i low = small ? (__m256i)w : _mm256_andnot_si256(top, (__m256i)w);
    sum += (vi)_mm256_madd_epi16(_mm256_maddubs_epi16(low, xs), ones);
    if (small) return sum;
    __m256i high = _mm256_and_si256(top, (__m256i)w);
    return sum + (vi)_mm256_madd_epi16(_mm256_maddubs_epi16(high, xs), ones);
#else
    (void)small;
    uint8_t codes[4 * VW];
    int8_t xs[4];
    memcpy(codes, &w, sizeof codes);
    memcpy(xs, &x, sizeof xs);
    for (int r = 0; r < VW; r++)
        for (int i = 0; i < 4; i++) sum[r] += codes[4 * r + i] * xs[i];
    return sum;
#endif
}

VEC_INLINE vf to_float(vi v) {
#if VEC_AVX512
    return (vf)_mm512_cvtepi32_ps((__m512i)v);
#else
    return __builtin_convertvector(v, vf);
#endif
}

VEC_INLINE vi load_codes(const uint8_t *p) {
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}
VEC_INLINE int32_t load_i32(const uint8_t *p) {
    int32_t v;
    memcpy(&v, p, 4);
    return v;
}
VEC_INLINE float load_f32(const uint8_t *p) {
    float v;
    memcpy(&v, p, 4);
    return v;
}

/* A block's codes of VW rows, four columns a vector. */
VEC_INLINE void unpack(enum dtype t, const uint8_t *p, vi w[QUARTERS]) {
    enum { VECTOR = 4 * PACKED_ROWS };
    for (int q = 0; q < QUARTERS && t == DTYPE_Q8_0; q++) w[q] = load_codes(p + q * VECTOR);
    for (int q = 0; q < QUARTERS / 2 && t != DTYPE_Q8_0; q++) {
        vi both = load_codes(p + q * VECTOR);
        w[q] = both & vi_set(0x0f0f0f0f);
        w[q + QUARTERS / 2] = (both >> 4) & vi_set(0x0f0f0f0f);
    }
}

/* VW of a group's rows, from lane `lane` on, times a tile of nt tokens. */
VEC_INLINE void rows_times_tile(enum dtype t, int nt, const uint8_t *group, int lane,
                                int32_t blocks, const uint8_t *x, vf sums[TILE_TOKENS]) {
    const uint8_t *codes = group + 4 * lane, *d = group + scales_at(t, blocks) + 2 * lane;
    const uint8_t *m = group + minima_at(t, blocks) + 2 * lane;
    const int offset_bits = t == DTYPE_Q8_0 ? 7 : 3; /* the stored codes are 128 or 8 too great */
    vf acc[TILE_TOKENS];
    for (int i = 0; i < nt; i++) acc[i] = (vf){0};
    for (int32_t b = 0; b < blocks; b++, x += nt * X_BLOCK_BYTES) {
        vi w[QUARTERS];
        for (size_t i = 0; i < code_bytes(t); i += 64)
            __builtin_prefetch(codes + (size_t)b * code_bytes(t) + PREFETCH_BYTES + i);
        unpack(t, codes + (size_t)b * code_bytes(t), w);
        vf scale = widen_f16(d + (size_t)b * PACKED_ROWS * 2);
        const uint8_t *x_scale = x + QUARTERS * 4 * nt, *x_minus_sum = x_scale + 4 * nt;
        for (int i = 0; i < nt; i++) {
            int32_t minus_sum = load_i32(x_minus_sum + 4 * i);
            vi isum = t == DTYPE_Q4_1 ? (vi){0} : vi_set(minus_sum) << offset_bits;
            for (int q = 0; q < QUARTERS; q++)
                isum = dot4(isum, w[q], load_i32(x + 4 * (q * nt + i)), t != DTYPE_Q8_0);
            float xs = load_f32(x_scale + 4 * i);
            acc[i] = vf_fused(to_float(isum), scale * vf_set(xs), acc[i]);
            if (t == DTYPE_Q4_1)
                acc[i] = vf_fused(widen_f16(m + (size_t)b * PACKED_ROWS * 2),
                                  vf_set(xs * (float)-minus_sum), acc[i]);
        }
    }
    for (int i = 0; i < nt; i++) sums[i] = acc[i];
}

VEC_INLINE void group_times_tile(enum dtype t, int nt, const uint8_t *group, int32_t rows,
                                 int32_t blocks, const uint8_t *x, int32_t token, int32_t row,
                                 const struct sink *k) {
    for (int lane = 0; lane < rows; lane += VW) {
        vf sums[TILE_TOKENS];
        rows_times_tile(t, nt, group, lane, blocks, x, sums);
        for (int i = 0; i < nt; i++)
            sink_put(k, token + i, row + lane, rows - lane < VW ? rows - lane : VW, sums[i]);
    }
}

/* All tokens of a tile by all rows, then the next tile: a tile stays in the first-level cache, the
 * rows of a thread's share in the second. */
VEC_INLINE void times(enum dtype t, const struct tensor *w, const uint8_t *groups, int32_t n,
                      const uint8_t *x, int32_t tokens, const struct sink *k) {
    int32_t blocks = w->cols / QBLOCK;
    size_t bytes = packed_group_bytes(t, w->cols);
    for (int32_t token = 0, nt; token < tokens; token += nt) {
        nt = tile_width(tokens - token);
        const uint8_t *tile = x + (size_t)token * (size_t)blocks * X_BLOCK_BYTES;
        for (int32_t row = 0; row < n; row += PACKED_ROWS) {
            const uint8_t *group = groups + (size_t)(row / PACKED_ROWS) * bytes;
            int32_t rows = n - row < PACKED_ROWS ? n - row : PACKED_ROWS;
            switch (nt) { /* one copy of the loop for each width */
            case 1:
                group_times_tile(t, 1, group, rows, blocks, tile, token, row, k);
                break;
            case 2:
                group_times_tile(t, 2, group, rows, blocks, tile, token, row, k);
                break;
            case 4:
                group_times_tile(t, 4, group, rows, blocks, tile, token, row, k);
                break;
            default:
                group_times_tile(t, TILE_TOKENS, group, rows, blocks, tile, token, row, k);
            }
        }
    }
}

void packed_times(const struct tensor *w, const void *groups, int32_t row0, int32_t n,
                  const void *x, int32_t tokens, const struct sink *k) {
    INVARIANT(row0 % PACKED_ROWS == 0);
    const uint8_t *g = (const uint8_t *)groups +
                       (size_t)(row0 / PACKED_ROWS) * packed_group_bytes(w->dtype, w->cols);
    switch (w->dtype) { /* one copy of the loop for each type */
    case DTYPE_BF16:
        packed_bf16_times(w, groups, row0, n, x, tokens, k);
        return;
    case DTYPE_Q8_0:
        times(DTYPE_Q8_0, w, g, n, x, tokens, k);
        return;
    case DTYPE_Q4_0:
        times(DTYPE_Q4_0, w, g, n, x, tokens, k);
        return;
    case DTYPE_Q4_1:
        times(DTYPE_Q4_1, w, g, n, x, tokens, k);
        return;
    default:
        err_bug(__FILE__, __LINE__, "a storage type that has a packed form");
    }
}
