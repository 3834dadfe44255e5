/* weights.cu: the model's weights on the device, in the kernels' layout. Not here: what a stored
 * value means (cpu/rows.h). */
#include "backend/cuda/quant.cuh"
#include "backend/cuda/state.cuh"

extern "C" {
#include "backend/cpu/fp8.h"
#include "backend/cpu/ops.h"
#include "backend/cpu/rows.h"
#include "base/clock.h"
}

#include <stdlib.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

enum { GROUP = 32 }; /* values of a quantised type's scale; QUANT_FP8: a row */

static int64_t code_bytes(int32_t t, int64_t cols) {
    return t == DTYPE_BF16 ? 2 * cols : t == DTYPE_Q8_0 || t == QUANT_FP8 ? cols : cols / 2;
}
static int64_t scale_bytes(int32_t t, int64_t cols) {
    if (t == QUANT_FP8) return sizeof(float);
    return (t == DTYPE_Q4_1 ? 4 : 2) * (cols / GROUP);
}

/* The type on the device of a matrix that is stored as `from`, whose columns may be put in another
 * order (turned). */
static int32_t kept_type(const struct cuda_backend *b, enum dtype from, int32_t cols, bool turned) {
    static const enum dtype of_weights[] = {DTYPE_BF16, DTYPE_Q8_0, DTYPE_Q4_0};
    if (b->weights == CUDA_WEIGHTS_FP8) return QUANT_FP8;
    if (b->exact || cols % GROUP || turned) return DTYPE_BF16;
    if (b->weights != CUDA_WEIGHTS_STORED) return of_weights[b->weights];
    return from == DTYPE_Q8_0 || from == DTYPE_Q4_0 || from == DTYPE_Q4_1 ? from : DTYPE_BF16;
}

/* With CUDA_EXACT: so many bf16 have every bit of a value. A half has 11 of them, a code of 4 bits
 * times a half 14. */
static int32_t pieces_of(enum dtype t) {
    return t == DTYPE_BF16 ? 1 : t == DTYPE_F16 || t == DTYPE_Q4_0 ? 2 : MOST_PIECES;
}

/* The matrix is stored as `from`; turned: its columns may be put in another order. */
static int take_matrix(struct cuda_backend *b, struct matrix *m, int32_t rows, int32_t cols,
                       enum dtype from, bool turned, struct err *e) {
    m->rows = rows;
    m->cols = cols;
    m->type = kept_type(b, from, cols, turned);
    m->pieces = b->exact ? pieces_of(from) : 1;
    TRY(memory_take(b, OF_WEIGHTS, &m->data, m->pieces * rows * code_bytes(m->type, cols), e));
    if (!is_quantised(m)) return 0;
    int64_t values = (int64_t)rows * cols;
    enum { MOST = 8 << 20, PARTS = 4 }; /* 16 MiB as bf16: stays in a GPU's second-level cache */
    int64_t tile = values / PARTS < MOST ? values / PARTS : MOST;
    if (tile < cols) tile = cols;
    if (tile > b->tile_values) b->tile_values = tile;
    return memory_take(b, OF_WEIGHTS, &m->scales, rows * scale_bytes(m->type, cols), e);
}

static int take_vector(struct cuda_backend *b, float **v, int32_t n, bool there, struct err *e) {
    if (!there) return 0;
    return memory_take(b, OF_WEIGHTS, (void **)v, (int64_t)n * sizeof **v, e);
}

static int take_layer(struct cuda_backend *b, const struct model_layer *from, struct cuda_layer *to,
                      struct err *e) {
    const struct heads *h = &b->heads;
    int32_t d = b->config.d_model, ffn = b->config.d_ffn, q = h->q * h->head, kv = h->kv * h->head;
    TRY(take_vector(b, &to->attn_norm, d, true, e));
    TRY(take_vector(b, &to->ffn_norm, d, true, e));
    TRY(take_vector(b, &to->bq, q, from->bq.data, e));
    TRY(take_vector(b, &to->bk, kv, from->bk.data, e));
    TRY(take_vector(b, &to->bv, kv, from->bv.data, e));
    to->window = from->windowed ? b->config.window : 0;
    enum dtype gate = from->w_gate.dtype; /* DTYPE_F32: no type of both */
    if (from->w_up.dtype != gate) gate = DTYPE_F32;
    TRY(take_matrix(b, &to->wq, q, d, from->wq.dtype, false, e));
    TRY(take_matrix(b, &to->wk, kv, d, from->wk.dtype, false, e));
    TRY(take_matrix(b, &to->wv, kv, d, from->wv.dtype, false, e));
    TRY(take_matrix(b, &to->wo, d, q, from->wo.dtype, h->head != h->head_dim, e));
    TRY(take_matrix(b, &to->gate_up, 2 * ffn, d, gate, false, e));
    return take_matrix(b, &to->down, d, ffn, from->w_down.dtype, false, e);
}

static bool head_is_embedding(const struct model *m) {
    return m->head.data == m->embedding.data;
}

int weights_take(struct cuda_backend *b, const struct model *m, struct err *e) {
    int32_t d = b->config.d_model, vocab = b->config.vocab_size;
    int64_t angles = (int64_t)b->base.info.max_seq_tokens * b->heads.head / 2 * sizeof(float);
    TRY(take_matrix(b, &b->embedding, vocab, d, m->embedding.dtype, false, e));
    b->head = b->embedding;
    if (!head_is_embedding(m)) TRY(take_matrix(b, &b->head, vocab, d, m->head.dtype, false, e));
    TRY(take_vector(b, &b->final_norm, d, true, e));
    TRY(memory_take(b, OF_WEIGHTS, (void **)&b->cosines, angles, e));
    TRY(memory_take(b, OF_WEIGHTS, (void **)&b->sines, angles, e));
    for (int32_t i = 0; i < b->config.n_layers; i++)
        TRY(take_layer(b, &m->layers[i], &b->layers[i], e));
    return 0;
}

/* ---- the way to the device ------------------------------------------------------------------- */

enum { PIECE = 8 << 20 }; /* bytes of a pinned buffer: a bus is busy for a millisecond */

/* Two pinned buffers: one is filled while the other is copied. */
struct loader {
    struct cuda_backend *b;
    char *piece[2], *to; /* to: where the filled bytes go */
    cudaEvent_t copied[2];
    int now;
    size_t filled;
    float *row, *turned; /* one row, as stored and in the kernels' layout */
    uint8_t *packed;     /* one row, quantised */
    uint8_t *scales;     /* of the matrix that is being sent */
    int64_t done, total, said_ns;
    FILE *say;
};

static void say_progress(struct loader *l) {
    enum { EVERY_S = 2 };
    int64_t now_ns = clock_monotonic_ns();
    if (!l->say || now_ns - l->said_ns < EVERY_S * NS_PER_S) return;
    l->said_ns = now_ns;
    fprintf(l->say, "servelab: loading weights: %.1f of %.1f GiB\n", (double)l->done / (1 << 30),
            (double)l->total / (1 << 30));
}

/* Sends what is filled; the other buffer is free when this returns. */
static int flush(struct loader *l, struct err *e) {
    if (l->filled == 0) return 0;
    CUDA_TRY(
        cudaMemcpyAsync(l->to, l->piece[l->now], l->filled, cudaMemcpyHostToDevice, l->b->stream));
    CUDA_TRY(cudaEventRecord(l->copied[l->now], l->b->stream));
    l->done += (int64_t)l->filled;
    l->to += l->filled;
    l->filled = 0;
    l->now = !l->now;
    CUDA_TRY(cudaEventSynchronize(l->copied[l->now]));
    say_progress(l);
    return 0;
}

/* Room for the next `bytes` at the place that begin() set. */
static int room(struct loader *l, size_t bytes, void **p, struct err *e) {
    if (l->filled + bytes > PIECE) TRY(flush(l, e));
    *p = l->piece[l->now] + l->filled;
    l->filled += bytes;
    return 0;
}

static int begin(struct loader *l, void *to, struct err *e) {
    TRY(flush(l, e));
    l->to = (char *)to;
    return 0;
}

/* ---- rows in the kernels' layout ------------------------------------------------------------- */

/* The model's value that value `r` of a row of heads holds; -1: padding. Queries and keys of
 * ROPE_NEIGHBOURS have their pairs side by side. */
static int32_t source(const struct heads *h, enum rope_pairing pairing, int32_t r) {
    int32_t half = h->head / 2, side = r % h->head / half, i = r % half % (h->pad / 2);
    if (i >= h->head_dim / 2) return -1;
    int32_t in_head = pairing == ROPE_NEIGHBOURS ? 2 * i + side : i + side * h->head_dim / 2;
    return r / h->head * h->head_dim + in_head;
}

enum { AS_FLOAT = -1 };

/* n values as floats, or each one's piece (MOST_PIECES). */
static int put(struct loader *l, const float *v, int32_t n, int32_t piece, struct err *e) {
    void *p;
    TRY(room(l, (size_t)n * (piece == AS_FLOAT ? 4 : 2), &p, e));
    if (piece == AS_FLOAT) {
        memcpy(p, v, (size_t)n * sizeof *v);
        return 0;
    }
    bf16 *out = (bf16 *)p;
    for (int32_t i = 0; i < n; i++) {
        float left = v[i];
        for (int32_t k = 0; k < piece; k++) left -= __bfloat162float(__float2bfloat16(left));
        out[i] = __float2bfloat16(left);
    }
    return 0;
}

/* ---- quantised rows: the codes go at once, the scales after the matrix's last row -------------
 */

static int begin_matrix(struct loader *l, const struct matrix *m, int32_t piece, struct err *e) {
    TRY(begin(l, (bf16 *)m->data + (size_t)piece * m->rows * m->cols, e));
    if (!is_quantised(m)) return 0;
    free(l->scales);
    l->scales = (uint8_t *)calloc((size_t)m->rows, (size_t)scale_bytes(m->type, m->cols));
    return l->scales ? 0 : err_set(e, "out of memory for a matrix's scales");
}

static int end_matrix(struct loader *l, const struct matrix *m, struct err *e) {
    if (!is_quantised(m)) return 0;
    TRY(begin(l, m->scales, e));
    size_t bytes = (size_t)(m->rows * scale_bytes(m->type, m->cols));
    for (size_t at = 0, n; at < bytes; at += n) {
        void *p;
        n = bytes - at < PIECE ? bytes - at : PIECE;
        TRY(room(l, n, &p, e));
        memcpy(p, l->scales + at, n);
    }
    return 0;
}

/* Row r of m; NULL: zeros, of which a scale of zero makes sure. */
static int put_packed(struct loader *l, const struct matrix *m, int32_t r, const uint8_t *row,
                      struct err *e) {
    void *p;
    size_t head = m->type == DTYPE_Q4_1 ? 4 : 2, body = m->type == DTYPE_Q8_0 ? 32 : 16;
    size_t groups = (size_t)(m->cols / GROUP), bytes = (size_t)code_bytes(m->type, m->cols);
    TRY(room(l, bytes, &p, e));
    if (!row) {
        memset(p, 0, bytes);
        return 0;
    }
    uint8_t *scales = l->scales + (size_t)r * groups * head, *codes = (uint8_t *)p;
    for (size_t g = 0; g < groups; g++, row += head + body) {
        memcpy(scales + g * head, row, head);
        memcpy(codes + g * body, row + head, body);
    }
    return 0;
}

static int put_fp8(struct loader *l, const struct matrix *m, int32_t r, const float *row,
                   struct err *e) {
    void *codes;
    TRY(room(l, (size_t)m->cols, &codes, e));
    fp8_from_row(row, m->cols, (float *)l->scales + r, (uint8_t *)codes);
    return 0;
}

/* ---- matrices ---------------------------------------------------------------------------------
 */

static void turn(const struct heads *h, enum rope_pairing pairing, const float *in, float *out,
                 int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        int32_t from = source(h, pairing, i);
        out[i] = from < 0 ? 0 : in[from];
    }
}

enum order { AS_STORED, ROWS_OF_HEADS, COLUMNS_OF_HEADS };

/* What a matrix on the device is made of: a tensor, or two, one below the other. */
struct parts {
    const struct tensor *tensor, *below;
    enum order order;
    enum rope_pairing pairing;
};

/* Row r of the device's matrix, or a piece of it. */
static int put_row(struct loader *l, const struct matrix *m, const struct parts *of, int32_t piece,
                   int32_t r, struct err *e) {
    const struct heads *h = &l->b->heads;
    const struct tensor *t = of->tensor;
    int32_t from = of->order == ROWS_OF_HEADS ? source(h, of->pairing, r) : r;
    if (of->below && r >= t->rows) from -= (int32_t)t->rows, t = of->below;
    if (is_quantised(m) && from < 0) return put_packed(l, m, r, NULL, e);
    if (is_quantised(m) && (int32_t)t->dtype == m->type)
        return put_packed(
            l, m, r, (const uint8_t *)t->data + (size_t)from * dtype_row_bytes(t->dtype, t->cols),
            e);
    const float *row = l->row;
    if (from >= 0) dequant_row(t, from, l->row);
    if (from < 0) memset(l->row, 0, (size_t)m->cols * sizeof *l->row);
    if (of->order == COLUMNS_OF_HEADS && h->head != h->head_dim) {
        turn(h, of->pairing, l->row, l->turned, m->cols);
        row = l->turned;
    }
    if (!is_quantised(m)) return put(l, row, m->cols, piece, e);
    if (m->type == QUANT_FP8) return put_fp8(l, m, r, row, e);
    if (quant_row((enum dtype)m->type, row, m->cols, l->packed))
        return err_set(e, "a row can't be quantised");
    return put_packed(l, m, r, l->packed, e);
}

static int put_matrix(struct loader *l, const struct matrix *m, struct parts of, struct err *e) {
    for (int32_t piece = 0; piece < m->pieces; piece++) {
        TRY(begin_matrix(l, m, piece, e));
        for (int32_t r = 0; r < m->rows; r++) TRY(put_row(l, m, &of, piece, r, e));
    }
    return end_matrix(l, m, e);
}

static int put_vector(struct loader *l, float *to, const struct tensor *t, struct err *e) {
    TRY(begin(l, to, e));
    for (int32_t r = 0; r < t->rows; r++) {
        dequant_row(t, r, l->row);
        TRY(put(l, l->row, t->cols, AS_FLOAT, e));
    }
    return 0;
}

static int put_bias(struct loader *l, float *to, const struct matrix *m, const struct tensor *t,
                    enum rope_pairing pairing, struct err *e) {
    if (!to) return 0;
    TRY(begin(l, to, e));
    dequant_row(t, 0, l->row);
    turn(&l->b->heads, pairing, l->row, l->turned, m->rows);
    return put(l, l->turned, m->rows, AS_FLOAT, e);
}

static int put_angles(struct loader *l, const struct model *m, struct err *e) {
    const struct cuda_backend *b = l->b;
    const struct heads *h = &b->heads;
    int32_t pairs = h->head_dim / 2, half = h->head / 2;
    float *frequency = l->row, *cosines = l->turned, *sines = cosines + pairs;
    const float *factors = NULL;
    if (m->rope_factors.data) {
        dequant_row(&m->rope_factors, 0, sines);
        factors = sines;
    }
    ops_rope_frequencies(frequency, h->head_dim, m->config.rope_theta, m->config.rope_scale,
                         factors);
    for (int sine = 0; sine < 2; sine++) {
        TRY(begin(l, sine ? b->sines : b->cosines, e));
        for (int32_t p = 0; p < b->base.info.max_seq_tokens; p++) {
            void *to;
            ops_rope_angles(cosines, sines, frequency, pairs, p);
            TRY(room(l, (size_t)half * sizeof(float), &to, e));
            for (int32_t i = 0; i < half; i++) {
                int32_t from = i % (h->pad / 2);
                ((float *)to)[i] = from < pairs ? (sine ? sines : cosines)[from] : !sine;
            }
        }
    }
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int load_layer(struct loader *l, const struct model_layer *from, struct cuda_layer *to,
                      enum rope_pairing pairing, struct err *e) {
    TRY(put_vector(l, to->attn_norm, &from->attn_norm, e));
    TRY(put_vector(l, to->ffn_norm, &from->ffn_norm, e));
    TRY(put_bias(l, to->bq, &to->wq, &from->bq, pairing, e));
    TRY(put_bias(l, to->bk, &to->wk, &from->bk, pairing, e));
    TRY(put_bias(l, to->bv, &to->wv, &from->bv, ROPE_HALVES, e));
    TRY(put_matrix(l, &to->wq, {&from->wq, NULL, ROWS_OF_HEADS, pairing}, e));
    TRY(put_matrix(l, &to->wk, {&from->wk, NULL, ROWS_OF_HEADS, pairing}, e));
    TRY(put_matrix(l, &to->wv, {&from->wv, NULL, ROWS_OF_HEADS, ROPE_HALVES}, e));
    TRY(put_matrix(l, &to->wo, {&from->wo, NULL, COLUMNS_OF_HEADS, ROPE_HALVES}, e));
    TRY(put_matrix(l, &to->gate_up, {&from->w_gate, &from->w_up, AS_STORED, ROPE_HALVES}, e));
    return put_matrix(l, &to->down, {&from->w_down, NULL, AS_STORED, ROPE_HALVES}, e);
}

static int load_all(struct loader *l, const struct model *m, struct err *e) {
    struct cuda_backend *b = l->b;
    TRY(put_matrix(l, &b->embedding, {&m->embedding, NULL, AS_STORED, ROPE_HALVES}, e));
    if (!head_is_embedding(m))
        TRY(put_matrix(l, &b->head, {&m->head, NULL, AS_STORED, ROPE_HALVES}, e));
    TRY(put_vector(l, b->final_norm, &m->final_norm, e));
    TRY(put_angles(l, m, e));
    for (int32_t i = 0; i < b->config.n_layers; i++)
        TRY(load_layer(l, &m->layers[i], &b->layers[i], m->rope, e));
    TRY(flush(l, e));
    CUDA_TRY(cudaStreamSynchronize(b->stream));
    return 0;
}

static int open_loader(struct loader *l, struct err *e) {
    const struct model_config *c = &l->b->config;
    const struct heads *h = &l->b->heads;
    size_t widest = (size_t)c->d_model;
    if ((size_t)c->d_ffn > widest) widest = (size_t)c->d_ffn;
    if ((size_t)h->q * h->head > widest) widest = (size_t)h->q * h->head;
    l->row = (float *)calloc(widest + 64, sizeof *l->row); /* dequant_row rounds up to 32 */
    l->turned = (float *)calloc(widest + 64, sizeof *l->turned);
    l->packed = (uint8_t *)malloc(widest * 2);
    if (!l->row || !l->turned || !l->packed) return err_set(e, "out of memory");
    for (int i = 0; i < 2; i++) {
        CUDA_TRY(cudaMallocHost((void **)&l->piece[i], PIECE));
        CUDA_TRY(cudaEventCreateWithFlags(&l->copied[i], cudaEventDisableTiming));
    }
    return 0;
}

int weights_load(struct cuda_backend *b, const struct model *m, FILE *say, struct err *e) {
    struct loader l = {};
    l.b = b;
    l.say = say;
    l.total = b->memory.bytes[OF_WEIGHTS];
    l.said_ns = clock_monotonic_ns();
    int rc = open_loader(&l, e) || load_all(&l, m, e) ? -1 : 0;
    for (int i = 0; i < 2; i++) {
        cudaFreeHost(l.piece[i]);
        if (l.copied[i]) cudaEventDestroy(l.copied[i]);
    }
    free(l.row);
    free(l.turned);
    free(l.packed);
    free(l.scales);
    return rc;
}
