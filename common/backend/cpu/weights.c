/* weights.c: the model's weights as the kernels take them: as stored in the mapped file, or
 * re-rounded in allocated memory. Not here: the file (model/), the rounding rules (dequant.c). */
#include "backend/cpu/state.h"

#include "backend/cpu/dequant.h"

#include <stdlib.h>
#include <string.h>

static const enum dtype stored_as[] = {
    [WEIGHTS_F32] = DTYPE_F32,
    [WEIGHTS_BF16] = DTYPE_BF16,
    [WEIGHTS_INT8] = DTYPE_Q8_0,
    [WEIGHTS_INT4] = DTYPE_Q4_0,
};

static void *own(struct cpu_weights *w, size_t bytes, struct err *e) {
    void **more = realloc(w->owned, (size_t)(w->n_owned + 1) * sizeof *more);
    void *p = more ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    if (more) w->owned = more;
    if (!p) {
        err_set(e, "out of memory for %zu bytes of weights", bytes);
        return NULL;
    }
    return w->owned[w->n_owned++] = p;
}

static int matrix(struct cpu_weights *w, enum backend_weights precision, const struct tensor *from,
                  struct tensor *to, struct err *e) {
    *to = *from;
    if (precision != WEIGHTS_AS_STORED && stored_as[precision] != from->dtype) {
        to->dtype = stored_as[precision];
        size_t row_bytes = dtype_row_bytes(to->dtype, from->cols);
        if (row_bytes == 0)
            return err_set(e,
                           "weights can't be rounded to %s: a matrix has %d columns, which isn't a "
                           "multiple of 32",
                           backend_weights_name(precision), from->cols);
        uint8_t *data = own(w, row_bytes * (size_t)from->rows, e);
        float *row = malloc(((size_t)from->cols + QBLOCK) * sizeof *row);
        for (int32_t r = 0; data && row && r < from->rows; r++) {
            dequant_row(from, r, row);
            quant_row(to->dtype, row, from->cols, data + (size_t)r * row_bytes);
        }
        if (data && !row) err_set(e, "out of memory for one row of weights");
        free(row);
        if (!data || !row) return -1;
        to->data = data;
    }
    INVARIANT(dtype_row_bytes(to->dtype, to->cols) > 0); /* model_open refuses other widths */
    w->bytes += (int64_t)dtype_row_bytes(to->dtype, to->cols) * to->rows;
    return 0;
}

/* A norm, bias or rope factor as floats, copied only where it isn't aligned F32; NULL stays NULL.
 */
static int vector(struct cpu_weights *w, const struct tensor *from, const float **to,
                  struct err *e) {
    *to = from->data;
    if (!from->data || (from->dtype == DTYPE_F32 && (uintptr_t)from->data % 4 == 0)) return 0;
    float *v = own(w, ((size_t)from->cols + QBLOCK) * sizeof *v, e);
    if (!v) return -1;
    dequant_row(from, 0, v);
    *to = v;
    return 0;
}

static int layer(struct cpu_weights *w, enum backend_weights p, const struct model_layer *from,
                 struct cpu_layer *to, struct err *e) {
    if (vector(w, &from->attn_norm, &to->attn_norm, e) ||
        vector(w, &from->ffn_norm, &to->ffn_norm, e) || vector(w, &from->bq, &to->bq, e) ||
        vector(w, &from->bk, &to->bk, e) || vector(w, &from->bv, &to->bv, e))
        return -1;
    if (matrix(w, p, &from->wq, &to->wq, e) || matrix(w, p, &from->wk, &to->wk, e) ||
        matrix(w, p, &from->wv, &to->wv, e) || matrix(w, p, &from->wo, &to->wo, e) ||
        matrix(w, p, &from->w_gate, &to->w_gate, e) || matrix(w, p, &from->w_up, &to->w_up, e))
        return -1;
    return matrix(w, p, &from->w_down, &to->w_down, e);
}

int cpu_weights_init(struct cpu_weights *w, const struct model *m, enum backend_weights precision,
                     struct err *e) {
    *w = (struct cpu_weights){0};
    w->layers = calloc((size_t)m->config.n_layers, sizeof *w->layers);
    if (!w->layers) return err_set(e, "out of memory for %d layers", m->config.n_layers);
    if (vector(w, &m->final_norm, &w->final_norm, e) ||
        vector(w, &m->rope_factors, &w->rope_factors, e) ||
        matrix(w, precision, &m->embedding, &w->embedding, e))
        return -1;
    w->head = w->embedding;
    if (m->head.data != m->embedding.data && matrix(w, precision, &m->head, &w->head, e)) return -1;
    for (int32_t i = 0; i < m->config.n_layers; i++)
        if (layer(w, precision, &m->layers[i], &w->layers[i], e)) return -1;
    return 0;
}

void cpu_weights_release(struct cpu_weights *w) {
    for (int32_t i = 0; i < w->n_owned; i++) free(w->owned[i]);
    free(w->owned);
    free(w->layers);
    *w = (struct cpu_weights){0};
}
