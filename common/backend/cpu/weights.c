/* weights.c: the model's weights as the kernels take them: as stored in the mapped file, or
 * re-rounded or packed in allocated memory. Not here: the file (model/), the rounding rules
 * (dequant.c), the packed layout (packed.c). */
#include "backend/cpu/state.h"

#include "backend/cpu/dequant.h"
#include "backend/cpu/fp8.h"
#include "backend/cpu/packed.h"
#include "model/gguf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const enum dtype stored_as[] = {
    [WEIGHTS_F32] = DTYPE_F32,   [WEIGHTS_BF16] = DTYPE_BF16, [WEIGHTS_INT8] = DTYPE_Q8_0,
    [WEIGHTS_INT4] = DTYPE_Q4_0, [WEIGHTS_FP8] = DTYPE_F32,
};

enum { SLAB_BYTES = 32 << 20 };

/* Room for `bytes`, aligned to 64. It comes from slabs in huge pages, because a product walks
 * through all of the weights, and page walks would cost a fifth of its time (SPEED.md). */
static void *own(struct cpu_weights *w, size_t bytes, struct err *e) {
    bytes = (bytes + 63) / 64 * 64;
    if (w->slab_left < bytes) {
        enum { HUGE_PAGE = 2 << 20 };
        size_t size = bytes < SLAB_BYTES ? SLAB_BYTES : bytes;
        size = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        void **more = realloc(w->slabs, (size_t)(w->n_slabs + 1) * sizeof *more);
        if (more) w->slabs = more;
        void *slab = more ? aligned_alloc(HUGE_PAGE, size) : NULL;
        if (!slab) {
            err_set(e, "out of memory for %zu bytes of weights", bytes);
            return NULL;
        }
        madvise(slab, size, MADV_HUGEPAGE); /* may be refused */
        w->slabs[w->n_slabs++] = slab;
        w->slab_at = slab;
        w->slab_left = size;
    }
    void *p = w->slab_at;
    w->slab_at += bytes;
    w->slab_left -= bytes;
    return p;
}

/* Row r of `from` in the type of `to`: the stored one, or one re-rounded into `out`, through `row`
 * (cols and a block more). */
static const void *row_in(const struct tensor *from, const struct tensor *to, int32_t r, float *row,
                          void *out) {
    if (to->dtype == from->dtype)
        return tensor_row(from, r, dtype_row_bytes(from->dtype, from->cols));
    dequant_row(from, r, row);
    quant_row(to->dtype, row, from->cols, out);
    return out;
}

static void *rows_in(struct cpu_weights *w, const struct tensor *from, const struct tensor *to,
                     float *row, struct err *e) {
    size_t bytes = dtype_row_bytes(to->dtype, to->cols);
    uint8_t *data = own(w, bytes * (size_t)from->rows, e);
    for (int32_t r = 0; data && r < from->rows; r++) {
        uint8_t *out = data + (size_t)r * bytes;
        const void *p = row_in(from, to, r, row, out);
        if (p != out) memcpy(out, p, bytes);
    }
    return data;
}

/* The values of FP8, as floats. */
static void *fp8_rows(struct cpu_weights *w, const struct tensor *from, float *row, struct err *e) {
    size_t cols = (size_t)from->cols;
    float *data = own(w, cols * (size_t)from->rows * sizeof *data, e), scale;
    uint8_t *codes = malloc(cols);
    if (data && !codes) err_set(e, "out of memory for one row of weights");
    for (int32_t r = 0; data && codes && r < from->rows; r++) {
        dequant_row(from, r, row);
        fp8_from_row(row, from->cols, &scale, codes);
        for (size_t i = 0; i < cols; i++) data[(size_t)r * cols + i] = scale * fp8_to_f32(codes[i]);
    }
    void *made = codes ? data : NULL;
    free(codes);
    return made;
}

static void *pack(struct cpu_weights *w, const struct tensor *from, const struct tensor *to,
                  float *row, struct err *e) {
    size_t group = packed_group_bytes(to->dtype, to->cols),
           bytes = dtype_row_bytes(to->dtype, to->cols);
    uint8_t *room = malloc(PACKED_ROWS * bytes), *data = NULL;
    if (room)
        data = own(w, group * (size_t)((from->rows + PACKED_ROWS - 1) / PACKED_ROWS), e);
    else
        err_set(e, "out of memory for %d rows of weights", PACKED_ROWS);
    for (int32_t r0 = 0; data && r0 < from->rows; r0 += PACKED_ROWS) {
        const void *rows[PACKED_ROWS] = {0};
        for (int32_t i = 0; i < PACKED_ROWS && r0 + i < from->rows; i++)
            rows[i] = row_in(from, to, r0 + i, row, room + (size_t)i * bytes);
        packed_group(to->dtype, to->cols, rows, data + (size_t)(r0 / PACKED_ROWS) * group);
    }
    free(room);
    return data;
}

/* A matrix as the options say. */
static int matrix(struct cpu_weights *w, const struct backend_cpu_options *o,
                  const struct tensor *from, struct weight *to, struct err *e) {
    *to = (struct weight){.stored = *from};
    struct tensor *t = &to->stored;
    if (o->weights != WEIGHTS_AS_STORED) t->dtype = stored_as[o->weights];
    size_t row_bytes = dtype_row_bytes(t->dtype, t->cols);
    INVARIANT(row_bytes > 0 || o->weights != WEIGHTS_AS_STORED); /* model_open refuses others */
    if (row_bytes == 0)
        return err_set(e,
                       "weights can't be rounded to %s: a matrix has %d columns, which isn't a "
                       "multiple of 32",
                       backend_weights_name(o->weights), from->cols);
    bool fast = o->precision == PRECISION_FAST, packed = fast && packed_has(t->dtype);
    bool fp8 = o->weights == WEIGHTS_FP8;
    bool copied = (fast || t->dtype != from->dtype || fp8) && !packed;
    float *row = malloc(((size_t)from->cols + QBLOCK) * sizeof *row);
    if (!row) return err_set(e, "out of memory for one row of weights");
    if (packed) {
        to->packed = pack(w, from, t, row, e);
        t->data = NULL;
    }
    if (copied) t->data = fp8 ? fp8_rows(w, from, row, e) : rows_in(w, from, t, row, e);
    free(row);
    w->bytes += (int64_t)row_bytes * t->rows;
    return (packed && !to->packed) || (copied && !t->data) ? -1 : 0;
}

/* A norm, bias or rope factor as floats, copied where it isn't aligned F32 or where all weights are
 * copied; NULL stays NULL. */
static int vector(struct cpu_weights *w, const struct backend_cpu_options *o,
                  const struct tensor *from, const float **to, struct err *e) {
    bool usable = from->dtype == DTYPE_F32 && (uintptr_t)from->data % 4 == 0;
    *to = from->data;
    if (!from->data || (usable && o->precision == PRECISION_EXACT)) return 0;
    float *v = own(w, ((size_t)from->cols + QBLOCK) * sizeof *v, e);
    if (!v) return -1;
    dequant_row(from, 0, v);
    *to = v;
    return 0;
}

static int layer(struct cpu_weights *w, const struct backend_cpu_options *o,
                 const struct model_layer *from, struct cpu_layer *to, struct err *e) {
    if (vector(w, o, &from->attn_norm, &to->attn_norm, e) ||
        vector(w, o, &from->ffn_norm, &to->ffn_norm, e) || vector(w, o, &from->bq, &to->bq, e) ||
        vector(w, o, &from->bk, &to->bk, e) || vector(w, o, &from->bv, &to->bv, e))
        return -1;
    const struct {
        const struct tensor *from;
        struct weight *to;
    } all[] = {{&from->wq, &to->wq},        {&from->wk, &to->wk},         {&from->wv, &to->wv},
               {&from->wo, &to->wo},        {&from->w_gate, &to->w_gate}, {&from->w_up, &to->w_up},
               {&from->w_down, &to->w_down}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (matrix(w, o, all[i].from, all[i].to, e)) return -1;
    return 0;
}

int cpu_weights_init(struct cpu_weights *w, const struct model *m,
                     const struct backend_cpu_options *o, struct err *e) {
    const struct backend_cpu_options exact = {.weights = o->weights}; /* only looked up */
    bool tied = m->head.data == m->embedding.data;
    *w = (struct cpu_weights){0};
    w->layers = calloc((size_t)m->config.n_layers, sizeof *w->layers);
    if (!w->layers) return err_set(e, "out of memory for %d layers", m->config.n_layers);
    if (vector(w, o, &m->final_norm, &w->final_norm, e) ||
        vector(w, o, &m->rope_factors, &w->rope_factors, e) ||
        matrix(w, tied ? o : &exact, &m->embedding, &w->embedding, e))
        return -1;
    w->head = w->embedding;
    if (!tied && matrix(w, o, &m->head, &w->head, e)) return -1;
    for (int32_t i = 0; i < m->config.n_layers; i++) {
        if (layer(w, o, &m->layers[i], &w->layers[i], e)) return -1;
        w->layers[i].window = m->layers[i].windowed ? m->config.window : 0;
    }
    /* The matrices aren't read from the file again. */
    if (o->precision == PRECISION_FAST && m->file) gguf_give_back(m->file);
    return 0;
}

void cpu_weights_release(struct cpu_weights *w) {
    for (int32_t i = 0; i < w->n_slabs; i++) free(w->slabs[i]);
    free(w->slabs);
    free(w->layers);
    *w = (struct cpu_weights){0};
}
