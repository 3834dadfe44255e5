/* matmul.c: the float matrix kernels: one for few tokens, one for many. See matmul.h for the order
 * of summation, which is the same in both. Not here: packed products (packed.c).
 *
 * Few tokens: four rows at a time, dequantised in registers; reading the weights once from memory
 * is the cost.
 * Many tokens: a strip of STRIP_ROWS rows is dequantised into the first-level cache once; then
 * tiles of STRIP_ROWS rows by STRIP_TOKENS tokens keep all their partial sums in registers, and the
 * next strip is prefetched. Long rows are cut into pieces of K_CHUNK columns; between pieces the
 * partial sums are stored unreduced. Tokens are cut into blocks whose activations fit the
 * second-level cache.
 */
#include "backend/cpu/matmul.h"

#include "backend/cpu/dequant.h"
#include "backend/cpu/ops.h"
#include "backend/cpu/packed.h"
#include "backend/cpu/sink.h"
#include "base/err.h"

#include <stdlib.h>

enum {
    DIRECT_TOKENS = VEC_REGISTERS >= 32 ? 4 : 2, /* of a fused tile, beside the dequantised rows */
    /* 8 x 3 partial sums, 3 activations and a weight are in AVX-512's and NEON's 32 registers; 4 x
     * 2 partial sums in AVX2's 16. */
    STRIP_ROWS = VEC_REGISTERS >= 32 ? 8 : 4,
    STRIP_TOKENS = VEC_REGISTERS >= 32 ? 3 : 2,
    K_CHUNK = 768,     /* 8 rows of 768 floats are 25 KB: half a first-level cache */
    BLOCK_TOKENS = 96, /* 96 x 768 floats are 295 KB: part of a core's second-level cache */
    /* Rows that a thread takes at a time: whole groups of packed rows. */
    SHARE_ROWS_ONE = 64, /* of one token */
    SHARE_ROWS_MANY = 48,
    CACHE_LINE = 64,
    /* Four rows side by side are four short streams. The hardware's prefetcher doesn't follow them,
     * so the loop asks ahead itself. The best distance is measured (SPEED.md). */
    PREFETCH_BYTES = 8192,
    TOKENS_PER_ITEM = 8,
    SHARES_PER_THREAD = 8 /* so that a thread that lost its core delays the loop by little */
};

struct thread_scratch {
    float *strip; /* (STRIP_ROWS, matmul_stride(max_cols)) */
    float *up;    /* (max_tokens, SHARE_ROWS_ONE), the second operand of SwiGLU */
    vf sums[BLOCK_TOKENS][STRIP_ROWS]; /* between pieces of K_CHUNK columns */
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
        s->t[i].strip =
            aligned_alloc(64, (size_t)STRIP_ROWS * (size_t)matmul_stride(max_cols) * sizeof(float));
        s->t[i].up = aligned_alloc(64, (size_t)SHARE_ROWS_ONE * (size_t)max_tokens * sizeof(float));
        if (!s->t[i].strip || !s->t[i].up) {
            matmul_scratch_free(s);
            return NULL;
        }
        /* The last strip of a share may have rows that hold no weights. */
        memset(s->t[i].strip, 0,
               (size_t)STRIP_ROWS * (size_t)matmul_stride(max_cols) * sizeof(float));
    }
    return s;
}

void matmul_scratch_free(struct matmul_scratch *s) {
    if (!s) return;
    for (int32_t i = 0; i < s->threads; i++) {
        free(s->t[i].strip);
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
    for (int r = 0; r < nr; r++)
        for (int i = 0; i < nt; i++) acc[r][i] = (vf){0};
    for (int32_t b = 0; b < blocks; b++) {
        for (int at = 0; at < bytes; at += CACHE_LINE)
            __builtin_prefetch(row[0] + PREFETCH_BYTES + (size_t)b * (size_t)bytes + at);
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
    return tokens <= (quantised(t) ? 4 : 8);
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

struct strip {
    const float *w,
        *x; /* (STRIP_ROWS, stride) and (tokens, stride), from the piece's first column */
    int32_t stride;
    int32_t row, rows; /* rows past `rows` hold no weights */
    bool first, last;  /* the piece of the columns */
    const struct sink *sink;
};

/* `cols` columns of a strip times nt tokens: from the partial sums `sums`, or zero, to them, or to
 * the sink. Asks for the bytes from `ahead` on, one cache line a step. */
VEC_INLINE void strip_tile(int nt, const struct strip *p, int32_t token, int32_t cols,
                           const uint8_t *ahead, vf sums[][STRIP_ROWS]) {
    vf acc[STRIP_TOKENS][STRIP_ROWS];
    const float *x = p->x + (size_t)token * (size_t)p->stride;
    for (int t = 0; t < nt; t++)
        for (int r = 0; r < STRIP_ROWS; r++) acc[t][r] = p->first ? (vf){0} : sums[t][r];
    for (int32_t c = 0; c < cols; c += VW) {
        vf b[STRIP_TOKENS];
        __builtin_prefetch(ahead + c * (CACHE_LINE / VW), 0, 2);
        for (int t = 0; t < nt; t++) b[t] = vf_load(x + t * p->stride + c);
        for (int r = 0; r < STRIP_ROWS; r++) {
            vf a = vf_load(p->w + r * p->stride + c);
            VEC_KEEP(a);
            for (int t = 0; t < nt; t++) acc[t][r] = vf_fma(a, b[t], acc[t][r]);
        }
    }
    for (int t = 0; t < nt && !p->last; t++)
        for (int r = 0; r < STRIP_ROWS; r++) sums[t][r] = acc[t][r];
    for (int t = 0; t < nt && p->last; t++)
        for (int r = 0; r < STRIP_ROWS && r < p->rows; r += 4)
            sink_put4(p->sink, token + t, p->row + r, p->rows - r < 4 ? p->rows - r : 4,
                      vf_sum4(acc[t][r], acc[t][r + 1], acc[t][r + 2], acc[t][r + 3]));
}

/* A strip, dequantised, times a block of tokens, the first of which is `token`. */
static void strip_times(struct thread_scratch *s, struct strip p, int32_t padded, int32_t token,
                        int32_t tokens, const uint8_t *ahead) {
    const float *w = p.w, *x = p.x;
    for (int32_t c = 0; c < padded; c += K_CHUNK) {
        int32_t cols = padded - c < K_CHUNK ? padded - c : K_CHUNK;
        p.w = w + c;
        p.x = x + c;
        p.first = c == 0;
        p.last = c + cols == padded;
        for (int32_t t = 0; t < tokens; ahead += cols * (CACHE_LINE / VW)) {
            vf(*sums)[STRIP_ROWS] = s->sums + t;
            if (tokens - t >= STRIP_TOKENS) { /* one copy of the loop for each width */
                strip_tile(STRIP_TOKENS, &p, token + t, cols, ahead, sums);
                t += STRIP_TOKENS;
            } else if (STRIP_TOKENS > 2 && tokens - t == 2) {
                strip_tile(2, &p, token + t, cols, ahead, sums);
                t += 2;
            } else {
                strip_tile(1, &p, token + t, cols, ahead, sums);
                t += 1;
            }
        }
    }
}

static void strips(struct thread_scratch *s, const struct tensor *w, int32_t row0, int32_t n,
                   const float *x, int32_t tokens, const struct sink *k) {
    int32_t stride = matmul_stride(w->cols), padded = (w->cols + QBLOCK - 1) / QBLOCK * QBLOCK;
    size_t bytes = dtype_row_bytes(w->dtype, w->cols);
    for (int32_t token = 0; token < tokens; token += BLOCK_TOKENS)
        for (int32_t r = 0; r < n; r += STRIP_ROWS) {
            int32_t rows = n - r < STRIP_ROWS ? n - r : STRIP_ROWS;
            struct strip p = {
                .w = s->strip, .x = x, .stride = stride, .row = r, .rows = rows, .sink = k};
            for (int32_t i = 0; i < rows; i++)
                dequant_row(w, row0 + r + i, s->strip + (size_t)i * (size_t)stride);
            strip_times(s, p, padded, token,
                        tokens - token < BLOCK_TOKENS ? tokens - token : BLOCK_TOKENS,
                        tensor_row(w, row0 + r + STRIP_ROWS, bytes));
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
        strips(s, &w->stored, row0, n, m->x, m->tokens, k);
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
    struct sink up = {s->up, SHARE_ROWS_ONE, NULL, false};
    rows_of(j->m, s, j->l[1].w, row0, n, &up);
    for (int32_t t = 0; t < j->m->tokens; t++)
        ops_silu_mul(k.out + (size_t)t * (size_t)k.stride, s->up + (size_t)t * (size_t)up.stride,
                     n);
}

static int32_t share_rows_for(const struct matmul *m, int32_t rows) {
    int32_t shares = SHARES_PER_THREAD * pool_threads(m->pool);
    int32_t n = ((rows + shares - 1) / shares + PACKED_ROWS - 1) / PACKED_ROWS * PACKED_ROWS;
    int32_t most = m->tokens == 1 ? SHARE_ROWS_ONE : SHARE_ROWS_MANY;
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
