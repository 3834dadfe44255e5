/* matmul.h: y = W x for one token or many, with W as it is stored (exact) or packed (integer
 * products of rounded activations, packed.h).
 *
 * In an exact product, every output is a dot product summed in one fixed order: VW partial sums in
 * float, partial sum j taking elements j, j + VW, j + 2 VW, ... in turn with fused multiply-adds,
 * and then vf_sum of the partial sums. The order doesn't depend on the number of tokens, the
 * division of rows among threads or the number of threads, so a token's result has the same bits
 * alone and in any batch.
 *
 * Activations: `x` holds one row a token, `stride` floats apart, with stride =
 * matmul_stride(cols); the padding after the cols values must be zeros.
 */
#ifndef SERVELAB_BACKEND_CPU_MATMUL_H
#define SERVELAB_BACKEND_CPU_MATMUL_H

#include "backend/cpu/pool.h"
#include "model/tensor.h"

#include <stdbool.h>
#include <stdint.h>

/* Floats between the rows of an activation of `cols` values: padded to whole quantisation blocks,
 * and by one more cache line, so that rows of a power-of-two width don't fall on the same lines of
 * the first-level cache. */
static inline int32_t matmul_stride(int32_t cols) {
    return (cols + 31) / 32 * 32 + 16;
}

/* A matrix. */
struct weight {
    struct tensor stored;
    const void *packed; /* groups of 16 rows (packed.h), and `stored` has no more than type and
                           size; NULL: products are exact */
};

/* One product: out[t][r] = bias[r] + W[r] . x[t]; with `add`, out[t][r] += that. */
struct linear {
    const struct weight *w;
    const float *bias; /* (rows of w), or NULL */
    float *out;        /* (tokens, out_stride) */
    int32_t out_stride;
    bool add;
};

struct matmul_scratch; /* a strip of weights a thread */
/* For matrices of at most max_cols columns and steps of at most max_tokens tokens; `packed`: some
 * matrices are packed. NULL: out of memory. */
struct matmul_scratch *matmul_scratch_create(int32_t threads, int32_t max_cols, int32_t max_tokens,
                                             bool packed);
void matmul_scratch_free(struct matmul_scratch *s);

struct matmul {
    struct pool *pool;
    struct matmul_scratch *scratch;
    const float *x; /* (tokens, matmul_stride(cols)) */
    int32_t tokens;
};

/* Up to MATMUL_MAX_LINEARS products of the same x, in one parallel loop. */
enum { MATMUL_MAX_LINEARS = 3 };
void matmul(const struct matmul *m, const struct linear *l, int32_t n);

/* out[t][r] = silu(Wg[r] . x[t]) * (Wu[r] . x[t]), silu(a) = a / (1 + e^-a). gate and up have the
 * same shape. */
void matmul_swiglu(const struct matmul *m, const struct weight *gate, const struct weight *up,
                   float *out, int32_t out_stride);

#endif
