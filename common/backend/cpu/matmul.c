/* matmul.c: the float matrix kernels: a fused one for few tokens, a blocked one for many. See
 * matmul.h for the order of summation, which is the same in both. Not here: packed products
 * (packed.c).
 *
 * Few tokens: four rows at a time, dequantised in registers; reading the weights once from memory
 * is the cost.
 * Many tokens: a panel of rows is dequantised into the second-level cache once; then tiles of
 * TILE_ROWS rows by TILE_TOKENS tokens keep all their partial sums in registers. Long rows are cut
 * into pieces of K_CHUNK columns; between pieces the partial sums are stored unreduced.
 */
#include "backend/cpu/matmul.h"

#include "backend/cpu/dequant.h"
#include "backend/cpu/ops.h"
#include "backend/cpu/packed.h"
#include "backend/cpu/sink.h"
#include "base/err.h"

#include <stdlib.h>

enum {
    TILE_ROWS = 4,
    DIRECT_TOKENS = VEC_REGISTERS >= 32 ? 4 : 2, /* of a fused tile, beside the dequantised rows */
    /* 4 x 6 partial sums fill AVX-512's and NEON's 32 registers, 4 x 2 fill AVX2's 16. */
    TILE_TOKENS = VEC_REGISTERS >= 32 ? 6 : 2,
    PANEL_ROWS = 48, /* 48 rows of 1,536 floats are 295 KB: most of a core's second-level cache */
    K_CHUNK = 768,   /* 6 tokens of 768 floats are 18 KB: half a first-level cache */
    /* Rows that a thread takes at a time: whole groups of packed rows. */
    SHARE_ROWS_MAX = 64, /* of one token */
    CACHE_LINE = 64,
    /* Four rows side by side are four short streams. The hardware's prefetcher doesn't follow them,
     * so the loop asks ahead itself. The best distances are measured (SPEED.md). */
    PREFETCH_BYTES = 8192,
    PREFETCH_BYTES_QUANTISED = 4096,
    TOKENS_PER_ITEM = 8,
    SHARES_PER_THREAD = 8 /* so that a thread that lost its core delays the loop by little */
};

struct thread_scratch {
    float *panel; /* (PANEL_ROWS, matmul_stride(max_cols)) */
    float *up;    /* (max_tokens, SHARE_ROWS_MAX), the second operand of SwiGLU */
    vf sums[PANEL_ROWS / TILE_ROWS][TILE_ROWS][TILE_TOKENS];
};

struct matmul_scratch {
    int32_t threads;
    void *rounded[PACKED_X_KINDS]; /* the activations of packed products (packed.h); NULL: none */
    struct thread_scratch t[];
};

struct matmul_scratch *matmul_scratch_create(int32_t threads, int32_t max_cols, int32_t max_tokens,
                                             bool packed) {
    size_t bytes = sizeof(struct matmul_scratch) + (size_t)threads * sizeof(struct thread_scratch);
    struct matmul_scratch *s = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!s) return NULL;
    memset(s, 0, bytes);
    s->threads = threads;
    for (int to = 0; packed && to < PACKED_X_KINDS; to++)
        if (!(s->rounded[to] = aligned_alloc(64, packed_x_bytes(to, max_tokens, max_cols)))) {
            matmul_scratch_free(s);
            return NULL;
        }
    for (int32_t i = 0; i < threads; i++) {
        s->t[i].panel =
            aligned_alloc(64, (size_t)PANEL_ROWS * (size_t)matmul_stride(max_cols) * sizeof(float));
        s->t[i].up = aligned_alloc(64, (size_t)SHARE_ROWS_MAX * (size_t)max_tokens * sizeof(float));
        if (!s->t[i].panel || !s->t[i].up) {
            matmul_scratch_free(s);
            return NULL;
        }
        /* The last tile of a panel may read rows that hold no weights. */
        memset(s->t[i].panel, 0,
               (size_t)PANEL_ROWS * (size_t)matmul_stride(max_cols) * sizeof(float));
    }
    return s;
}

void matmul_scratch_free(struct matmul_scratch *s) {
    if (!s) return;
    for (int32_t i = 0; i < s->threads; i++) {
        free(s->t[i].panel);
        free(s->t[i].up);
    }
    for (int to = 0; to < PACKED_X_KINDS; to++) free(s->rounded[to]);
    free(s);
}

VEC_INLINE bool quantised(enum dtype t) {
    return t == DTYPE_Q8_0 || t == DTYPE_Q4_0 || t == DTYPE_Q4_1;
}

/* ---- few tokens ------------------------------------------------------------------------------ */

/* Adds one block of nr rows, times nt tokens, to the partial sums. */
VEC_INLINE void add_block(int nr, int nt, vf w[4][QV], const float *x, int32_t x_stride,
                          vf acc[4][DIRECT_TOKENS]) {
    for (int i = 0; i < QV; i++)
        for (int t = 0; t < nt; t++) {
            vf v = vf_load(x + (size_t)t * (size_t)x_stride + i * VW);
            for (int r = 0; r < nr; r++) acc[r][t] = vf_fma(w[r][i], v, acc[r][t]);
        }
}

/* Partial sums of nr rows, side by side, times nt tokens. */
VEC_INLINE void dot_rows(enum dtype t, int nr, int nt, const uint8_t *const *row, int32_t cols,
                         const float *x, int32_t x_stride, vf acc[4][DIRECT_TOKENS]) {
    vf w[4][QV];
    int32_t blocks = cols / QBLOCK, tail = cols % QBLOCK;
    const int bytes = nr * (int)dtype_block_bytes(t);
    const int ahead = quantised(t) ? PREFETCH_BYTES_QUANTISED : PREFETCH_BYTES;
    for (int r = 0; r < nr; r++)
        for (int i = 0; i < nt; i++) acc[r][i] = (vf){0};
    for (int32_t b = 0; b < blocks; b++) {
        for (int at = 0; at < bytes; at += CACHE_LINE)
            __builtin_prefetch(row[0] + ahead + (size_t)b * (size_t)bytes + at);
        for (int r = 0; r < nr; r++) dequant_block(t, row[r], b, w[r]);
        add_block(nr, nt, w, x + b * QBLOCK, x_stride, acc);
    }
    if (!tail) return;
    for (int r = 0; r < nr; r++) dequant_tail(t, row[r], blocks, tail, w[r]);
    add_block(nr, nt, w, x + blocks * QBLOCK, x_stride, acc);
}

/* Four rows times nt tokens. A single token reads wide rows one after another: memory is the limit,
 * and one stream is read faster than four (SPEED.md). */
VEC_INLINE void direct_tile(enum dtype t, int nt, const uint8_t *const row[4], int32_t cols,
                            const float *x, int32_t token, int32_t r, int32_t n,
                            const struct sink *k) {
    int32_t stride = matmul_stride(cols);
    const float *xt = x + (size_t)token * (size_t)stride;
    vf acc[4][DIRECT_TOKENS];
    if (nt == 1 && !quantised(t))
        for (int i = 0; i < 4; i++) dot_rows(t, 1, nt, row + i, cols, xt, stride, acc + i);
    else
        dot_rows(t, 4, nt, row, cols, xt, stride, acc);
    for (int i = 0; i < nt; i++)
        sink_put4(k, token + i, r, n - r < 4 ? n - r : 4,
                  vf_sum4(acc[0][i], acc[1][i], acc[2][i], acc[3][i]));
}

VEC_INLINE void direct_rows(enum dtype t, const struct tensor *w, int32_t row0, int32_t n,
                            const float *x, int32_t tokens, const struct sink *k) {
    size_t bytes = dtype_row_bytes(t, w->cols);
    for (int32_t r = 0; r < n; r += 4) {
        const uint8_t *row[4];
        for (int32_t i = 0; i < 4;
             i++) /* past the end: the last row again; its result is dropped */
            row[i] = tensor_row(w, row0 + (r + i < n ? r + i : n - 1), bytes);
        int32_t token = 0;
        for (; tokens - token >= DIRECT_TOKENS; token += DIRECT_TOKENS)
            direct_tile(t, DIRECT_TOKENS, row, w->cols, x, token, r, n, k);
        for (; DIRECT_TOKENS > 2 && tokens - token >= 2; token += 2)
            direct_tile(t, 2, row, w->cols, x, token, r, n, k);
        for (; token < tokens; token++) direct_tile(t, 1, row, w->cols, x, token, r, n, k);
    }
}

/* Up to so many tokens, widening each row in registers once for every tile of tokens costs less
 * than storing it widened (SPEED.md). */
static bool few(enum dtype t, int32_t tokens) {
    return tokens <= (quantised(t) ? 8 : 32);
}

static void direct(const struct tensor *w, int32_t row0, int32_t n, const float *x, int32_t tokens,
                   const struct sink *k) {
    switch (w->dtype) { /* one copy of the loop for each type */
    case DTYPE_F32:
        direct_rows(DTYPE_F32, w, row0, n, x, tokens, k);
        return;
    case DTYPE_F16:
        direct_rows(DTYPE_F16, w, row0, n, x, tokens, k);
        return;
    case DTYPE_BF16:
        direct_rows(DTYPE_BF16, w, row0, n, x, tokens, k);
        return;
    case DTYPE_Q8_0:
        direct_rows(DTYPE_Q8_0, w, row0, n, x, tokens, k);
        return;
    case DTYPE_Q4_0:
        direct_rows(DTYPE_Q4_0, w, row0, n, x, tokens, k);
        return;
    case DTYPE_Q4_1:
        direct_rows(DTYPE_Q4_1, w, row0, n, x, tokens, k);
        return;
    }
    err_bug(__FILE__, __LINE__, "a storage type that the matrix kernels know");
}

/* ---- many tokens ----------------------------------------------------------------------------- */

/* Adds `cols` columns to the partial sums of 4 rows x nt tokens. */
VEC_INLINE void tile(int nt, const float *w, int32_t w_stride, const float *x, int32_t x_stride,
                     int32_t cols, bool first, vf sums[TILE_ROWS][TILE_TOKENS]) {
    vf acc[TILE_ROWS][TILE_TOKENS];
    for (int r = 0; r < TILE_ROWS; r++)
        for (int t = 0; t < nt; t++) acc[r][t] = first ? (vf){0} : sums[r][t];
    for (int32_t c = 0; c < cols; c += VW) {
        vf a[TILE_ROWS];
        for (int r = 0; r < TILE_ROWS; r++) a[r] = vf_load(w + r * w_stride + c);
        for (int t = 0; t < nt; t++) {
            vf b = vf_load(x + t * x_stride + c);
            VEC_KEEP(b);
            for (int r = 0; r < TILE_ROWS; r++) acc[r][t] = vf_fma(a[r], b, acc[r][t]);
        }
    }
    for (int r = 0; r < TILE_ROWS; r++)
        for (int t = 0; t < nt; t++) sums[r][t] = acc[r][t];
}

/* All rows of the panel times nt tokens. */
VEC_INLINE void panel_tokens(int nt, struct thread_scratch *s, int32_t rows, int32_t cols,
                             int32_t stride, const float *x, int32_t token, const struct sink *k) {
    int32_t padded = (cols + QBLOCK - 1) / QBLOCK * QBLOCK;
    for (int32_t c = 0; c < padded; c += K_CHUNK) {
        int32_t n = padded - c < K_CHUNK ? padded - c : K_CHUNK;
        for (int32_t r = 0; r < rows; r += TILE_ROWS) {
            vf(*sums)[TILE_TOKENS] = s->sums[r / TILE_ROWS];
            tile(nt, s->panel + (size_t)r * (size_t)stride + c, stride, x + c, stride, n, c == 0,
                 sums);
            if (c + n < padded) continue;
            for (int t = 0; t < nt; t++)
                sink_put4(k, token + t, r, rows - r < 4 ? rows - r : 4,
                          vf_sum4(sums[0][t], sums[1][t], sums[2][t], sums[3][t]));
        }
    }
}

static void gemm(struct thread_scratch *s, const struct tensor *w, int32_t row0, int32_t n,
                 const float *x, int32_t tokens, const struct sink *k) {
    int32_t stride = matmul_stride(w->cols);
    for (int32_t r = 0; r < n; r++) dequant_row(w, row0 + r, s->panel + (size_t)r * (size_t)stride);
    for (int32_t t = 0; t < tokens;) {
        const float *xt = x + (size_t)t * (size_t)stride;
        switch (tokens - t < TILE_TOKENS ? tokens - t : TILE_TOKENS) {
        case 1:
            panel_tokens(1, s, n, w->cols, stride, xt, t, k);
            t += 1;
            break;
#if VEC_REGISTERS >= 32
        case 3:
        case 2:
            panel_tokens(2, s, n, w->cols, stride, xt, t, k);
            t += 2;
            break;
        case 5:
        case 4:
            panel_tokens(4, s, n, w->cols, stride, xt, t, k);
            t += 4;
            break;
#endif
        default:
            panel_tokens(TILE_TOKENS, s, n, w->cols, stride, xt, t, k);
            t += TILE_TOKENS;
        }
    }
}

/* ---- packed products: the activations' rounding -----------------------------------------------
 */

struct rounding {
    const struct matmul *m;
    int32_t cols;
    enum packed_x to;
};

static void round_tokens(void *ctx, int32_t item, int32_t thread) {
    const struct rounding *r = ctx;
    (void)thread;
    for (int32_t t = item * TOKENS_PER_ITEM; t < (item + 1) * TOKENS_PER_ITEM; t++)
        if (t < r->m->tokens)
            packed_x_row(r->to, r->m->x + (size_t)t * (size_t)matmul_stride(r->cols), r->cols, t,
                         r->m->tokens, r->m->scratch->rounded[r->to]);
}

/* Rounds x as the products need it. */
static void round_x(const struct matmul *m, const struct linear *l, int32_t n) {
    bool done[PACKED_X_KINDS] = {false};
    for (int32_t i = 0; i < n; i++) {
        enum packed_x to = packed_x_of(l[i].w->stored.dtype);
        if (!l[i].w->packed || done[to]) continue;
        struct rounding r = {m, l[0].w->stored.cols, to};
        pool_run(m->pool, round_tokens, &r, (m->tokens + TOKENS_PER_ITEM - 1) / TOKENS_PER_ITEM);
        done[to] = true;
    }
}

/* ---- sharing the rows among threads ---------------------------------------------------------- */

struct job {
    const struct matmul *m;
    const struct linear *l;
    int32_t n_linears;
    int32_t share_rows;
    int32_t first_share[MATMUL_MAX_LINEARS + 1];
    bool swiglu; /* l[0] is the gate, l[1] the up projection, written to the same place */
};

static void rows_of(const struct matmul *m, struct thread_scratch *s, const struct weight *w,
                    int32_t row0, int32_t n, const struct sink *k) {
    if (w->packed)
        packed_times(&w->stored, w->packed, row0, n,
                     m->scratch->rounded[packed_x_of(w->stored.dtype)], m->tokens, k);
    else if (few(w->stored.dtype, m->tokens))
        direct(&w->stored, row0, n, m->x, m->tokens, k);
    else
        gemm(s, &w->stored, row0, n, m->x, m->tokens, k);
}

static void run_share(void *ctx, int32_t item, int32_t thread) {
    const struct job *j = ctx;
    struct thread_scratch *s = &j->m->scratch->t[thread];
    int32_t i = 0;
    while (item >= j->first_share[i + 1]) i++;
    const struct linear *l = &j->l[i];
    int32_t row0 = (item - j->first_share[i]) * j->share_rows;
    int32_t n = l->w->stored.rows - row0 < j->share_rows ? l->w->stored.rows - row0 : j->share_rows;
    struct sink k = {l->out + row0, l->out_stride, l->bias ? l->bias + row0 : NULL, l->add};
    rows_of(j->m, s, l->w, row0, n, &k);
    if (!j->swiglu) return;
    struct sink up = {s->up, SHARE_ROWS_MAX, NULL, false};
    rows_of(j->m, s, j->l[1].w, row0, n, &up);
    for (int32_t t = 0; t < j->m->tokens; t++)
        ops_silu_mul(k.out + (size_t)t * (size_t)k.stride, s->up + (size_t)t * (size_t)up.stride,
                     n);
}

static int32_t share_rows_for(const struct matmul *m, int32_t rows) {
    int32_t shares = SHARES_PER_THREAD * pool_threads(m->pool);
    int32_t n = ((rows + shares - 1) / shares + PACKED_ROWS - 1) / PACKED_ROWS * PACKED_ROWS;
    int32_t most = m->tokens == 1 ? SHARE_ROWS_MAX : PANEL_ROWS;
    return n > most ? most : n;
}

void matmul(const struct matmul *m, const struct linear *l, int32_t n) {
    INVARIANT(n >= 1 && n <= MATMUL_MAX_LINEARS);
    struct job j = {.m = m, .l = l, .n_linears = n};
    int32_t rows = 0;
    for (int32_t i = 0; i < n; i++) rows += l[i].w->stored.rows;
    j.share_rows = share_rows_for(m, rows);
    for (int32_t i = 0; i < n; i++)
        j.first_share[i + 1] =
            j.first_share[i] + (l[i].w->stored.rows + j.share_rows - 1) / j.share_rows;
    round_x(m, l, n);
    pool_run(m->pool, run_share, &j, j.first_share[n]);
}

void matmul_swiglu(const struct matmul *m, const struct weight *gate, const struct weight *up,
                   float *out, int32_t out_stride) {
    int32_t rows = gate->stored.rows;
    INVARIANT(rows == up->stored.rows && gate->stored.cols == up->stored.cols);
    struct linear l[2] = {{gate, NULL, out, out_stride, false}, {up, NULL, NULL, 0, false}};
    struct job j = {.m = m, .l = l, .n_linears = 1, .swiglu = true};
    j.share_rows = share_rows_for(m, rows);
    j.first_share[1] = (rows + j.share_rows - 1) / j.share_rows;
    round_x(m, l, 2);
    pool_run(m->pool, run_share, &j, j.first_share[1]);
}
