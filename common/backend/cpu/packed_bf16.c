/* packed_bf16.c: packs bfloat16 weights, rounds activations to bfloat16, and multiplies them. See
 * packed_bf16.h for the arithmetic and the layout. Not here: sharing among threads (matmul.c).
 */
#include "backend/cpu/packed_bf16.h"

#include "backend/cpu/dequant.h"
#include "backend/cpu/packed.h"

enum {
    PAIR_BYTES = PACKED_ROWS * 4, /* of one pair of columns of a group */
    /* 3 x 8 vectors of sums and 3 of weights fill 32 registers; 1 x 4 and two halves of each fill
     * 16. */
    TILE_VECTORS = VEC_REGISTERS >= 32 ? 3 : 1,
    TILE_TOKENS = VEC_REGISTERS >= 32 ? 8 : 4,
    PREFETCH_BYTES = 4096,  /* the best distance (SPEED.md) */
    LEAST = (127 - 56) << 7 /* 2^-56 in bfloat16 */
};

static int32_t pairs_of(int32_t cols) {
    return (cols + 1) / 2;
}

/* Bytes of a rounded row: whole cache lines and one more, as matmul_stride does and for its
 * reason. */
static size_t x_stride(int32_t cols) {
    return ((size_t)cols * 2 + 63) / 64 * 64 + 64;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* The value, or zero where it is below 2^-56. */
static uint16_t flushed(uint16_t h) {
    return (h & 0x7fff) < LEAST ? 0 : h;
}

size_t packed_bf16_group_bytes(int32_t cols) {
    return (size_t)pairs_of(cols) * PAIR_BYTES;
}

void packed_bf16_group(int32_t cols, const void *const rows[], void *out) {
    uint8_t *p = out;
    memset(p, 0, packed_bf16_group_bytes(cols));
    for (int32_t r = 0; r < PACKED_ROWS; r++)
        for (int32_t c = 0; rows[r] && c < cols; c++) {
            uint16_t h = flushed(load_u16((const uint8_t *)rows[r] + 2 * (size_t)c));
            memcpy(p + (size_t)(c / 2) * PAIR_BYTES + 4 * r + c % 2 * 2, &h, 2);
        }
}

void packed_bf16_row(const struct tensor *w, const void *groups, int32_t row, float *out) {
    const uint8_t *p = (const uint8_t *)groups +
                       (size_t)(row / PACKED_ROWS) * packed_bf16_group_bytes(w->cols) +
                       row % PACKED_ROWS * 4;
    int32_t padded = (w->cols + QBLOCK - 1) / QBLOCK * QBLOCK;
    for (int32_t c = 0; c < padded; c++)
        out[c] =
            c < w->cols ? bf16_to_f32(load_u16(p + (size_t)(c / 2) * PAIR_BYTES + c % 2 * 2)) : 0;
}

/* ---- activations ----------------------------------------------------------------------------- */

size_t packed_bf16_x_bytes(int32_t tokens, int32_t cols) {
    return (size_t)tokens * x_stride(cols);
}

void packed_bf16_x_row(const float *x, int32_t cols, int32_t token, void *out) {
    uint16_t *p = (uint16_t *)((uint8_t *)out + (size_t)token * x_stride(cols));
    for (int32_t c = 0; c < cols; c++) p[c] = flushed(f32_to_bf16(x[c]));
    if (cols % 2) p[cols] = 0;
}

/* ---- products -------------------------------------------------------------------------------- */

/* sum + w . x for VW rows: each lane has two weights of a row; x has two values of a token. */
VEC_INLINE vf dot2(vf sum, vi w, int32_t x) {
#if VEC_AVX512 && defined(__AVX512BF16__)
    return (vf)_mm512_dpbf16_ps((__m512)sum, (__m512bh)w, (__m512bh)_mm512_set1_epi32(x));
#else
    const vi odd = vi_set((int32_t)0xffff0000);
    sum = vf_fused((vf)(w & odd), (vf)(vi_set(x) & odd), sum);
    return vf_fused((vf)(w << 16), (vf)(vi_set(x) << 16), sum);
#endif
}

VEC_INLINE vi load_vi(const uint8_t *p) {
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}
VEC_INLINE int32_t load_i32(const uint8_t *p) {
    int32_t v;
    memcpy(&v, p, 4);
    return v;
}

/* nv vectors of VW rows times nt tokens. w: the first pair of each vector; x: of token 0. */
VEC_INLINE void tile(int nv, int nt, const uint8_t *const w[TILE_VECTORS], const uint8_t *x,
                     size_t stride, int32_t pairs, vf sums[TILE_VECTORS][TILE_TOKENS]) {
    vf acc[TILE_VECTORS][TILE_TOKENS];
    for (int v = 0; v < nv; v++)
        for (int t = 0; t < nt; t++) acc[v][t] = (vf){0};
    for (int32_t p = 0; p < pairs; p++) {
        vi a[TILE_VECTORS];
        for (int v = 0; v < nv; v++) {
            const uint8_t *at = w[v] + (size_t)p * PAIR_BYTES;
            __builtin_prefetch(at + PREFETCH_BYTES);
            a[v] = load_vi(at);
        }
        for (int t = 0; t < nt; t++) {
            int32_t b = load_i32(x + (size_t)t * stride + 4 * (size_t)p);
            for (int v = 0; v < nv; v++) acc[v][t] = dot2(acc[v][t], a[v], b);
        }
    }
    for (int v = 0; v < nv; v++)
        for (int t = 0; t < nt; t++) sums[v][t] = acc[v][t];
}

/* Rows row .. row + nv * VW - 1, times nt tokens; the first `rows` of a product's `n` are kept. */
VEC_INLINE void put_tile(int nv, int nt, const uint8_t *groups, int32_t row, int32_t n,
                         const uint8_t *x, int32_t cols, int32_t token, const struct sink *k) {
    vf sums[TILE_VECTORS][TILE_TOKENS];
    const uint8_t *w[TILE_VECTORS];
    for (int v = 0; v < nv; v++) {
        int32_t r = row + v * VW;
        w[v] = groups + (size_t)(r / PACKED_ROWS) * packed_bf16_group_bytes(cols) +
               r % PACKED_ROWS * 4;
    }
    tile(nv, nt, w, x + (size_t)token * x_stride(cols), x_stride(cols), pairs_of(cols), sums);
    for (int v = 0; v < nv; v++)
        for (int t = 0; t < nt; t++) {
            int32_t r = row + v * VW;
            sink_put(k, token + t, r, n - r < VW ? n - r : VW, sums[v][t]);
        }
}

VEC_INLINE void rows_by(int nt, const uint8_t *groups, int32_t n, const uint8_t *x, int32_t cols,
                        int32_t token, const struct sink *k) {
    int32_t r = 0;
    for (; r + (TILE_VECTORS - 1) * VW < n; r += TILE_VECTORS * VW)
        put_tile(TILE_VECTORS, nt, groups, r, n, x, cols, token, k);
    for (; r < n; r += VW) put_tile(1, nt, groups, r, n, x, cols, token, k);
}

/* All rows by a tile of tokens, then the next tile: the rows of a thread's share stay in the
 * second-level cache. */
void packed_bf16_times(const struct tensor *w, const void *groups, int32_t row0, int32_t n,
                       const void *x, int32_t tokens, const struct sink *k) {
    const uint8_t *g =
        (const uint8_t *)groups + (size_t)(row0 / PACKED_ROWS) * packed_bf16_group_bytes(w->cols);
    for (int32_t t = 0; t < tokens;) {
        int32_t left = tokens - t;
        if (left >= TILE_TOKENS) { /* one copy of the loop for each width */
            rows_by(TILE_TOKENS, g, n, x, w->cols, t, k);
            t += TILE_TOKENS;
        } else if (TILE_TOKENS > 4 && left >= 4) {
            rows_by(4, g, n, x, w->cols, t, k);
            t += 4;
        } else if (left >= 2) {
            rows_by(2, g, n, x, w->cols, t, k);
            t += 2;
        } else {
            rows_by(1, g, n, x, w->cols, t, k);
            t += 1;
        }
    }
}
