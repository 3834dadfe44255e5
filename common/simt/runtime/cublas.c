/* cublas.c: cuBLAS's calls over gemm.h: checks, conversions, batches.
 *
 * Narrow types go through float copies of the matrices, made for each call.
 */
#include "fault.h"
#include "hooks.h"
#include "memory.h"
#include "product.h"
#include "stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cublasContext {
    cudaStream_t stream;
    cublasPointerMode_t mode;
};

cublasStatus_t cublasCreate(cublasHandle_t *handle) {
    if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
    *handle = calloc(1, sizeof **handle);
    return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t *stream) {
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    *stream = handle->stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
    (void)mode; /* float is always computed in float */
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes) {
    (void)workspace;
    (void)bytes;
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion(cublasHandle_t handle, int *version) {
    *version = 120000;
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

const char *cublasGetStatusString(cublasStatus_t status) {
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
        return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
        return "CUBLAS_STATUS_UNKNOWN";
    }
}

/* ---- matrices -------------------------------------------------------------------------------- */
static size_t type_bytes(cudaDataType type) {
    switch (type) {
    case CUDA_R_64F:
        return 8;
    case CUDA_R_32F:
    case CUDA_R_32I:
        return 4;
    case CUDA_R_8I:
        return 1;
    default:
        return 2;
    }
}

/* Whether all of it is in device memory, page-locked memory or a device variable. */
static bool readable(const struct matrix *x) {
    if (!x->rows || !x->columns) return true;
    size_t bytes = ((size_t)(x->columns - 1) * x->ld + x->rows) * type_bytes(x->type);
    const struct allocation *a = memory_find((uintptr_t)x->p);
    if (a) return a->live && (uintptr_t)x->p + bytes <= (uintptr_t)a->start + a->bytes;
    const struct simt_symbol *s = symbol_find(x->p);
    if (s) return (uintptr_t)x->p + bytes <= (uintptr_t)s->address + s->bytes;
    return memory_is_pinned(x->p, bytes);
}

static float bits_to_float(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static uint32_t float_to_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static float half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = h & 0x7fffu;
    if (rest >= 0x7c00u) return bits_to_float(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    return copysignf(ldexpf(bits_to_float(rest << 13), 112), bits_to_float(sign));
}

static uint16_t half_from_float(float f) {
    uint32_t u = float_to_bits(f), sign = u >> 16 & 0x8000u;
    u &= 0x7fffffffu;
    if (u > 0x7f800000u) return 0x7fff;
    if (u >= 0x47800000u) return (uint16_t)(sign | 0x7c00u);
    if (u < 0x38800000u) /* subnormal: adding 0.5 rounds at 2^-24 */
        return (uint16_t)(sign | (float_to_bits(bits_to_float(u) + 0.5f) - 0x3f000000u));
    u += 0xfffu + (u >> 13 & 1);
    return (uint16_t)(sign | (u - 0x38000000u) >> 13);
}

static uint16_t bf16_from_float(float f) {
    uint32_t u = float_to_bits(f);
    if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

static float element(const void *p, cudaDataType type, size_t i) {
    switch (type) {
    case CUDA_R_16F:
        return half_to_float(((const uint16_t *)p)[i]);
    case CUDA_R_16BF:
        return bits_to_float((uint32_t)((const uint16_t *)p)[i] << 16);
    case CUDA_R_8I:
        return ((const int8_t *)p)[i];
    default:
        return ((const float *)p)[i];
    }
}

static void put_element(void *p, cudaDataType type, size_t i, float v) {
    switch (type) {
    case CUDA_R_16F:
        ((uint16_t *)p)[i] = half_from_float(v);
        break;
    case CUDA_R_16BF:
        ((uint16_t *)p)[i] = bf16_from_float(v);
        break;
    default:
        ((float *)p)[i] = v;
        break;
    }
}

/* A float copy without gaps; the caller frees it. */
static float *as_float(const struct matrix *x) {
    float *out = malloc(((size_t)x->rows * x->columns + 1) * sizeof *out);
    for (int j = 0; out && j < x->columns; j++)
        for (int i = 0; i < x->rows; i++)
            out[(size_t)j * x->rows + i] = element(x->p, x->type, (size_t)j * x->ld + i);
    return out;
}

static void put_back(const struct matrix *x, const float *from) {
    void *p = (void *)(uintptr_t)x->p;
    for (int j = 0; j < x->columns; j++)
        for (int i = 0; i < x->rows; i++)
            put_element(p, x->type, (size_t)j * x->ld + i, from[(size_t)j * x->rows + i]);
}

static void note_written(const struct matrix *x) {
    for (int j = 0; j < x->columns; j++) {
        size_t size = type_bytes(x->type);
        const char *column = (const char *)x->p + (size_t)j * x->ld * size;
        hook_written((void *)(uintptr_t)column, (size_t)x->rows * size);
    }
}

/* ---- one product ----------------------------------------------------------------------------- */
static cublasStatus_t product_check(const struct product *x) {
    if (x->g.m < 0 || x->g.n < 0 || x->g.k < 0 || x->a.ld < (x->a.rows > 1 ? x->a.rows : 1) ||
        x->b.ld < (x->b.rows > 1 ? x->b.rows : 1) || x->c.ld < (x->g.m > 1 ? x->g.m : 1) ||
        x->d.ld < (x->g.m > 1 ? x->g.m : 1))
        return CUBLAS_STATUS_INVALID_VALUE;
    bool good = readable(&x->c) && readable(&x->d) && readable(&x->bias) && readable(&x->a) &&
                readable(&x->b) && !memory_dead();
    return good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

static void product_int8(const struct product *x) {
    const int8_t *a = x->a.p, *b = x->b.p;
    int32_t *c = (int32_t *)(uintptr_t)x->d.p;
    for (int j = 0; j < x->g.n; j++)
        for (int i = 0; i < x->g.m; i++) {
            int32_t sum = 0, *at = &c[(size_t)j * x->d.ld + i];
            for (int p = 0; p < x->g.k; p++)
                sum += a[x->g.ta ? (size_t)i * x->a.ld + p : (size_t)p * x->a.ld + i] *
                       b[x->g.tb ? (size_t)p * x->b.ld + j : (size_t)j * x->b.ld + p];
            *at = (int32_t)x->alpha * sum + (x->beta == 0 ? 0 : (int32_t)x->beta * *at);
        }
}

/* The epilogue, on sums that are not rounded yet. */
static void finish(const struct product *x, float *d, int ld) {
    if (!x->epilogue) return;
    for (int j = 0; j < x->g.n; j++)
        for (int i = 0; i < x->g.m; i++) {
            float *at = &d[(size_t)j * ld + i], v = *at;
            if (x->bias.p) v += element(x->bias.p, x->bias.type, (size_t)i);
            if (x->epilogue & CUBLASLT_EPILOGUE_RELU) v = v > 0 ? v : 0;
            if (x->epilogue & CUBLASLT_EPILOGUE_GELU)
                v = 0.5f * v * (1 + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
            *at = v;
        }
}

/* Through float copies of the matrices. */
static void product_narrow(const struct product *x) {
    struct gemm g = x->g;
    float *fa = as_float(&x->a), *fb = as_float(&x->b);
    float *fd = x->beta != 0 ? as_float(&x->c) : malloc(((size_t)g.m * g.n + 1) * sizeof *fd);
    g.lda = x->a.rows > 1 ? x->a.rows : 1, g.ldb = x->b.rows > 1 ? x->b.rows : 1, g.ldc = g.m;
    if (fa && fb && fd) {
        gemm_float(&g, (float)x->alpha, fa, fb, (float)x->beta, fd);
        finish(x, fd, g.m);
        put_back(&x->d, fd);
    } else {
        memory_error(cudaErrorMemoryAllocation);
    }
    free(fa);
    free(fb);
    free(fd);
}

/* A piece of a stream's work; its product was checked. */
static void run_product(void *own) {
    const struct product *x = own;
    if (memory_dead() || !x->g.m || !x->g.n) return;
    struct gemm g = x->g;
    g.lda = x->a.ld, g.ldb = x->b.ld, g.ldc = x->d.ld;
    void *d = (void *)(uintptr_t)x->d.p;
    bool apart = x->beta != 0 && x->c.p != x->d.p;
    if (x->d.type == CUDA_R_32I) {
        product_int8(x);
    } else if (x->d.type == CUDA_R_64F) {
        gemm_double(&g, x->alpha, x->a.p, x->b.p, x->beta, d);
    } else if (x->a.type == CUDA_R_32F && x->b.type == CUDA_R_32F && !apart) {
        gemm_float(&g, (float)x->alpha, x->a.p, x->b.p, (float)x->beta, d);
        finish(x, d, x->d.ld);
    } else {
        product_narrow(x);
    }
    note_written(&x->d);
}

cublasStatus_t product_give(const struct product *x, cudaStream_t stream) {
    cublasStatus_t status = product_check(x);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    return stream_give(stream, run_product, x, sizeof *x) ? CUBLAS_STATUS_EXECUTION_FAILED : status;
}

struct product product_of(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k) {
    struct product x = {.g = {.ta = ta != CUBLAS_OP_N, .tb = tb != CUBLAS_OP_N, m, n, k, 0, 0, 0}};
    x.a.rows = x.g.ta ? k : m, x.a.columns = x.g.ta ? m : k;
    x.b.rows = x.g.tb ? n : k, x.b.columns = x.g.tb ? k : n;
    x.c.rows = x.d.rows = m, x.c.columns = x.d.columns = n;
    return x;
}

static void product_types(struct product *x, cudaDataType a, int lda, cudaDataType b, int ldb,
                          cudaDataType c, int ldc) {
    x->a.type = a, x->a.ld = lda;
    x->b.type = b, x->b.ld = ldb;
    x->c.type = x->d.type = c, x->c.ld = x->d.ld = ldc;
}

bool product_types_fit(cudaDataType a, cudaDataType b, cudaDataType c) {
    if (a != b) return false;
    if (a == CUDA_R_8I) return c == CUDA_R_32I || c == CUDA_R_32F;
    if (a == CUDA_R_16F || a == CUDA_R_16BF) return c == a || c == CUDA_R_32F;
    return (a == CUDA_R_32F || a == CUDA_R_64F) && c == a;
}

double product_scalar(const void *p, cublasComputeType_t compute) {
    switch (compute) {
    case CUBLAS_COMPUTE_16F:
        return half_to_float(*(const uint16_t *)p);
    case CUBLAS_COMPUTE_32I:
        return *(const int32_t *)p;
    case CUBLAS_COMPUTE_64F:
        return *(const double *)p;
    default:
        return *(const float *)p;
    }
}

/* ---- the calls ------------------------------------------------------------------------------- */
const void *product_offset(const void *p, long long elements, cudaDataType type) {
    return (const char *)p + elements * (long long)type_bytes(type);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t h, cublasOperation_t ta,
                                          cublasOperation_t tb, int m, int n, int k,
                                          const void *alpha, const void *a, cudaDataType ta_type,
                                          int lda, long long stride_a, const void *b,
                                          cudaDataType tb_type, int ldb, long long stride_b,
                                          const void *beta, void *c, cudaDataType tc_type, int ldc,
                                          long long stride_c, int batch,
                                          cublasComputeType_t compute, cublasGemmAlgo_t algo) {
    (void)algo;
    if (!h) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!alpha || !beta || batch < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (!product_types_fit(ta_type, tb_type, tc_type)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (fault_in("cublasGemmEx")) return CUBLAS_STATUS_EXECUTION_FAILED;
    if (h->mode == CUBLAS_POINTER_MODE_DEVICE && stream_wait(h->stream))
        return CUBLAS_STATUS_EXECUTION_FAILED;
    struct product x = product_of(ta, tb, m, n, k);
    product_types(&x, ta_type, lda, tb_type, ldb, tc_type, ldc);
    x.alpha = product_scalar(alpha, compute), x.beta = product_scalar(beta, compute);
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (int i = 0; i < batch && status == CUBLAS_STATUS_SUCCESS; i++) {
        x.a.p = product_offset(a, i * stride_a, ta_type),
        x.b.p = product_offset(b, i * stride_b, tb_type);
        x.c.p = x.d.p = product_offset(c, i * stride_c, tc_type);
        status = product_give(&x, h->stream);
    }
    return status;
}

cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,
                            int n, int k, const void *alpha, const void *a, cudaDataType ta_type,
                            int lda, const void *b, cudaDataType tb_type, int ldb, const void *beta,
                            void *c, cudaDataType tc_type, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algo) {
    return cublasGemmStridedBatchedEx(h, ta, tb, m, n, k, alpha, a, ta_type, lda, 0, b, tb_type,
                                      ldb, 0, beta, c, tc_type, ldc, 0, 1, compute, algo);
}

cublasStatus_t cublasGemmBatchedEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb,
                                   int m, int n, int k, const void *alpha, const void *const a[],
                                   cudaDataType ta_type, int lda, const void *const b[],
                                   cudaDataType tb_type, int ldb, const void *beta, void *const c[],
                                   cudaDataType tc_type, int ldc, int batch,
                                   cublasComputeType_t compute, cublasGemmAlgo_t algo) {
    cublasStatus_t status = h ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
    if (h && stream_wait(h->stream)) status = CUBLAS_STATUS_EXECUTION_FAILED; /* it makes a, b, c */
    for (int i = 0; i < batch && status == CUBLAS_STATUS_SUCCESS; i++)
        status = cublasGemmEx(h, ta, tb, m, n, k, alpha, a[i], ta_type, lda, b[i], tb_type, ldb,
                              beta, c[i], tc_type, ldc, compute, algo);
    return status;
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t h, cublasOperation_t ta,
                                         cublasOperation_t tb, int m, int n, int k,
                                         const float *alpha, const float *a, int lda,
                                         long long stride_a, const float *b, int ldb,
                                         long long stride_b, const float *beta, float *c, int ldc,
                                         long long stride_c, int batch) {
    return cublasGemmStridedBatchedEx(h, ta, tb, m, n, k, alpha, a, CUDA_R_32F, lda, stride_a, b,
                                      CUDA_R_32F, ldb, stride_b, beta, c, CUDA_R_32F, ldc, stride_c,
                                      batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

cublasStatus_t cublasSgemm(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,
                           int n, int k, const float *alpha, const float *a, int lda,
                           const float *b, int ldb, const float *beta, float *c, int ldc) {
    return cublasGemmEx(h, ta, tb, m, n, k, alpha, a, CUDA_R_32F, lda, b, CUDA_R_32F, ldb, beta, c,
                        CUDA_R_32F, ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

cublasStatus_t cublasDgemm(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,
                           int n, int k, const double *alpha, const double *a, int lda,
                           const double *b, int ldb, const double *beta, double *c, int ldc) {
    return cublasGemmEx(h, ta, tb, m, n, k, alpha, a, CUDA_R_64F, lda, b, CUDA_R_64F, ldb, beta, c,
                        CUDA_R_64F, ldc, CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT);
}

cublasStatus_t cublasHgemm(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,
                           int n, int k, const __half *alpha, const __half *a, int lda,
                           const __half *b, int ldb, const __half *beta, __half *c, int ldc) {
    return cublasGemmEx(h, ta, tb, m, n, k, alpha, a, CUDA_R_16F, lda, b, CUDA_R_16F, ldb, beta, c,
                        CUDA_R_16F, ldc, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT);
}

cublasStatus_t cublasSgemv(cublasHandle_t h, cublasOperation_t ta, int m, int n, const float *alpha,
                           const float *a, int lda, const float *x, int incx, const float *beta,
                           float *y, int incy) {
    int outputs = ta == CUBLAS_OP_N ? m : n, inputs = ta == CUBLAS_OP_N ? n : m;
    if (incx < 1 || incy < 1) return CUBLAS_STATUS_NOT_SUPPORTED;
    /* x and y as rows: y' = x' op(A)', so that an increment is a leading dimension */
    return cublasSgemm(h, CUBLAS_OP_N, ta == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N, 1, outputs,
                       inputs, alpha, x, incx, a, lda, beta, y, incy);
}
