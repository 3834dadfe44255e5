/* gemm.c: matrix products through the machine's BLAS, or by plain loops where it has none.
 *
 * The library is searched for at run time: a program starts without one.
 */
#include "gemm.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMN_MAJOR = 102, PLAIN = 111, TRANSPOSED = 112 }; /* of CBLAS */
typedef void sgemm_function(int, int, int, int, int, int, float, const float *, int, const float *,
                            int, float, float *, int);
typedef void dgemm_function(int, int, int, int, int, int, double, const double *, int,
                            const double *, int, double, double *, int);
static sgemm_function *sgemm;
static dgemm_function *dgemm;

static void find_blas(void) {
    static const char *const names[] = {"libopenblas.so.0", "libcblas.so.3", "libblas.so.3",
                                        "libmkl_rt.so.2", NULL};
    const char *asked = getenv("SIMT_BLAS");
    const char *only[] = {asked, NULL};
    if (asked && strcmp(asked, "none") == 0) return;
    for (const char *const *n = asked && *asked ? only : names; *n && !sgemm; n++) {
        void *library = dlopen(*n, RTLD_NOW | RTLD_LOCAL);
        if (!library) continue;
        sgemm = (sgemm_function *)dlsym(library, "cblas_sgemm");
        dgemm = (dgemm_function *)dlsym(library, "cblas_dgemm");
        if (!sgemm || !dgemm) sgemm = NULL, dgemm = NULL;
    }
}

/* Columns of C by axpys over columns of op(A), which is copied to be contiguous: the inner loop is
 * one the compiler vectorises. */
#define LOOPS(T, name)                                                                             \
    static void name(const struct gemm *g, T alpha, const T *a, const T *b, T beta, T *c) {        \
        size_t m = (size_t)g->m;                                                                   \
        T *turned = NULL;                                                                          \
        for (int j = 0; j < g->n; j++)                                                             \
            for (size_t i = 0; i < m; i++) {                                                       \
                T *at = &c[(size_t)j * g->ldc + i];                                                \
                *at = beta == 0 ? 0 : beta * *at;                                                  \
            }                                                                                      \
        if (g->ta) turned = malloc(m * sizeof *turned);                                            \
        if (g->ta && !turned) abort();                                                             \
        for (int p = 0; p < g->k; p++) {                                                           \
            const T *column = &a[(size_t)p * g->lda];                                              \
            for (size_t i = 0; g->ta && i < m; i++) turned[i] = a[i * g->lda + p];                 \
            if (g->ta) column = turned;                                                            \
            for (int j = 0; j < g->n; j++) {                                                       \
                T by = alpha * (g->tb ? b[(size_t)p * g->ldb + j] : b[(size_t)j * g->ldb + p]);    \
                T *to = &c[(size_t)j * g->ldc];                                                    \
                for (size_t i = 0; i < m; i++) to[i] += column[i] * by;                            \
            }                                                                                      \
        }                                                                                          \
        free(turned);                                                                              \
    }
LOOPS(float, float_loops)
LOOPS(double, double_loops)

static pthread_once_t once = PTHREAD_ONCE_INIT;

void gemm_float(const struct gemm *g, float alpha, const float *a, const float *b, float beta,
                float *c) {
    pthread_once(&once, find_blas);
    if (!sgemm || g->k == 0)
        float_loops(g, alpha, a, b, beta, c);
    else
        sgemm(COLUMN_MAJOR, g->ta ? TRANSPOSED : PLAIN, g->tb ? TRANSPOSED : PLAIN, g->m, g->n,
              g->k, alpha, a, g->lda, b, g->ldb, beta, c, g->ldc);
}

void gemm_double(const struct gemm *g, double alpha, const double *a, const double *b, double beta,
                 double *c) {
    pthread_once(&once, find_blas);
    if (!dgemm || g->k == 0)
        double_loops(g, alpha, a, b, beta, c);
    else
        dgemm(COLUMN_MAJOR, g->ta ? TRANSPOSED : PLAIN, g->tb ? TRANSPOSED : PLAIN, g->m, g->n,
              g->k, alpha, a, g->lda, b, g->ldb, beta, c, g->ldc);
}
