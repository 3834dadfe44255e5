/* sink.h: where the matrix kernels put their results: rows of a product, token by token.
 */
#ifndef SERVELAB_BACKEND_CPU_SINK_H
#define SERVELAB_BACKEND_CPU_SINK_H

#include "backend/cpu/vec.h"

#include <stdbool.h>
#include <stddef.h>

/* out[token][row] = sum + bias[row]; with `add`, out[token][row] += that. */
struct sink {
    float *out;        /* of token 0, row 0 */
    int32_t stride;    /* floats between tokens */
    const float *bias; /* of row 0, or NULL */
    bool add;
};

static inline float *sink_at(const struct sink *k, int32_t token, int32_t row) {
    return k->out + (size_t)token * (size_t)k->stride + row;
}

/* n <= 4 rows from `row` on. */
static inline void sink_put4(const struct sink *k, int32_t token, int32_t row, int32_t n,
                             vf4 sums) {
    float *o = sink_at(k, token, row);
    if (n == 4) {
        if (k->bias) sums += *(const vf4_unaligned *)(k->bias + row);
        if (k->add) sums += *(const vf4_unaligned *)o;
        *(vf4_unaligned *)o = sums;
        return;
    }
    for (int32_t i = 0; i < n; i++) {
        float v = k->bias ? sums[i] + k->bias[row + i] : sums[i];
        o[i] = k->add ? v + o[i] : v;
    }
}

/* n <= VW rows from `row` on. */
static inline void sink_put(const struct sink *k, int32_t token, int32_t row, int32_t n, vf sums) {
    float *o = sink_at(k, token, row);
    if (n == VW) {
        if (k->bias) sums += vf_load(k->bias + row);
        if (k->add) sums += vf_load(o);
        vf_store(o, sums);
        return;
    }
    for (int32_t i = 0; i < n; i++) {
        float v = k->bias ? sums[i] + k->bias[row + i] : sums[i];
        o[i] = k->add ? v + o[i] : v;
    }
}

#endif
