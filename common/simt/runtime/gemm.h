/* gemm.h: C = alpha op(A) op(B) + beta C on the host, column-major, in float or double. */
#ifndef SIMT_GEMM_H
#define SIMT_GEMM_H

#include <stdbool.h>

struct gemm {
    bool ta, tb; /* op is the transpose */
    int m, n, k, lda, ldb, ldc;
};
/* beta == 0: c isn't read. */
void gemm_float(const struct gemm *g, float alpha, const float *a, const float *b, float beta,
                float *c);
void gemm_double(const struct gemm *g, double alpha, const double *a, const double *b, double beta,
                 double *c);

#endif
