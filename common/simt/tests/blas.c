/* blas.c: every cuBLAS call of simt against products in double, over shapes, layouts and types;
 * TAP. Plain C: cublas_v2.h and cuda_runtime_api.h must serve it too.
 */
#include <cublasLt.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int count, failed;
static uint64_t state = 88172645463325252u;

static void tap(int good, const char *name) {
    failed += !good;
    printf("%sok %d - %s\n", good ? "" : "not ", ++count, name);
}

static float draw(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (float)(int)(state >> 40 & 0xff) / 64 - 2; /* exact in half and bf16 */
}

static float widen(const void *p, cudaDataType type, size_t i) {
    uint32_t u;
    float f;
    switch (type) {
    case CUDA_R_64F:
        return (float)((const double *)p)[i];
    case CUDA_R_32I:
        return (float)((const int32_t *)p)[i];
    case CUDA_R_8I:
        return ((const int8_t *)p)[i];
    case CUDA_R_16BF:
        u = (uint32_t)((const uint16_t *)p)[i] << 16;
        memcpy(&f, &u, 4);
        return f;
    case CUDA_R_16F: {
        uint16_t h = ((const uint16_t *)p)[i];
        float v = h & 0x7c00 ? ldexpf((float)(h & 0x3ff | 0x400), (h >> 10 & 31) - 25)
                             : ldexpf((float)(h & 0x3ff), -24);
        return h & 0x8000 ? -v : v;
    }
    default:
        return ((const float *)p)[i];
    }
}

/* draw() has at most 8 significant bits, so that truncation is exact */
static void narrow(void *p, cudaDataType type, size_t i, float v) {
    uint32_t u;
    memcpy(&u, &v, 4);
    switch (type) {
    case CUDA_R_64F:
        ((double *)p)[i] = v;
        break;
    case CUDA_R_32I:
        ((int32_t *)p)[i] = (int32_t)(v * 8);
        break;
    case CUDA_R_8I:
        ((int8_t *)p)[i] = (int8_t)(v * 32);
        break;
    case CUDA_R_16BF:
        ((uint16_t *)p)[i] = (uint16_t)(u >> 16);
        break;
    case CUDA_R_16F:
        ((uint16_t *)p)[i] =
            (uint16_t)(v == 0 ? 0 : (u >> 16 & 0x8000) | ((u >> 13 & 0x3ffff) - (112 << 10)));
        break;
    default:
        ((float *)p)[i] = v;
    }
}

static size_t bytes_of(cudaDataType t) {
    return t == CUDA_R_64F ? 8 : t == CUDA_R_32F || t == CUDA_R_32I ? 4 : t == CUDA_R_8I ? 1 : 2;
}

struct operand {
    void *host, *device;
    size_t n;
    cudaDataType type;
};
static struct operand operand(size_t n, cudaDataType type) {
    struct operand o = {malloc(n * bytes_of(type)), NULL, n, type};
    for (size_t i = 0; i < n; i++) narrow(o.host, type, i, draw());
    cudaMalloc(&o.device, n * bytes_of(type));
    cudaMemcpy(o.device, o.host, n * bytes_of(type), cudaMemcpyHostToDevice);
    return o;
}
static void drop(struct operand *o) {
    free(o->host);
    cudaFree(o->device);
}

/* One shape of one pair of types through GemmStridedBatchedEx; the worst error over its tolerance.
 */
static double one(cublasHandle_t h, cudaDataType type, cudaDataType out, int ta, int tb, int m,
                  int n, int k, float alpha, float beta, int batch) {
    int lda = (ta ? k : m) + 3, ldb = (tb ? n : k) + 1, ldc = m + 2;
    size_t sa = (size_t)lda * (ta ? m : k), sb = (size_t)ldb * (tb ? k : n), sc = (size_t)ldc * n;
    struct operand a = operand(sa * batch, type), b = operand(sb * batch, type),
                   c = operand(sc * batch, out);
    double da = alpha, db = beta;
    int ia = (int)alpha, ib = (int)beta;
    const void *pa = &alpha, *pb = &beta;
    cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
    if (out == CUDA_R_64F) pa = &da, pb = &db, compute = CUBLAS_COMPUTE_64F;
    if (out == CUDA_R_32I) pa = &ia, pb = &ib, compute = CUBLAS_COMPUTE_32I;
    cublasStatus_t s = cublasGemmStridedBatchedEx(
        h, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, k, pa, a.device,
        type, lda, (long long)sa, b.device, type, ldb, (long long)sb, pb, c.device, out, ldc,
        (long long)sc, batch, compute, CUBLAS_GEMM_DEFAULT);
    double worst = s == CUBLAS_STATUS_SUCCESS ? 0 : 1e9;
    void *got = malloc(c.n * bytes_of(out));
    cudaMemcpy(got, c.device, c.n * bytes_of(out), cudaMemcpyDeviceToHost);
    double ulp = out == CUDA_R_16BF ? 1.0 / 256 : out == CUDA_R_16F ? 1.0 / 2048 : 2e-6;
    for (int q = 0; q < batch; q++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < ldc; i++) {
                size_t at = q * sc + (size_t)j * ldc + i;
                double sum = 0, size = 0, before = widen(c.host, out, at);
                if (i >= m) { /* between columns: untouched */
                    if (widen(got, out, at) != before) worst = 1e9;
                    continue;
                }
                for (int p = 0; p < k; p++) {
                    double x = widen(a.host, type,
                                     q * sa + (ta ? (size_t)i * lda + p : (size_t)p * lda + i));
                    double y = widen(b.host, type,
                                     q * sb + (tb ? (size_t)p * ldb + j : (size_t)j * ldb + p));
                    sum += x * y, size += fabs(x * y);
                }
                double want = alpha * sum + beta * before;
                double error = fabs(widen(got, out, at) - want);
                double allowed = ulp * (fabs(want) + 1e-3) + 1e-6 * (size + fabs(before));
                worst = isfinite(error) ? fmax(worst, error / allowed) : 1e9;
            }
    drop(&a), drop(&b), drop(&c);
    free(got);
    return worst;
}

static void all_shapes(cublasHandle_t h, const char *name, cudaDataType type, cudaDataType out) {
    static const int shapes[][3] = {{1, 1, 1}, {17, 5, 33}, {64, 1, 40}, {1, 31, 7}, {40, 40, 40}};
    double worst = 0;
    for (int i = 0; i < 5; i++)
        for (int t = 0; t < 4; t++) {
            const int *s = shapes[i];
            worst = fmax(worst, one(h, type, out, t & 1, t >> 1, s[0], s[1], s[2], 1, 0, 1));
            worst = fmax(worst, one(h, type, out, t & 1, t >> 1, s[0], s[1], s[2], 2, -1, 3));
        }
    char text[128];
    snprintf(text, sizeof text, "%s: worst error %.2f of the tolerance", name, worst);
    tap(worst < 1, text);
}

static void other_calls(cublasHandle_t h) {
    enum { N = 24 };
    struct operand a = operand(N * N, CUDA_R_32F), x = operand(2 * N, CUDA_R_32F),
                   y = operand(3 * N, CUDA_R_32F);
    float one_ = 1, half_ = 0.5f, got[3 * N];
    cublasSgemv(h, CUBLAS_OP_T, N, N, &one_, a.device, N, x.device, 2, &half_, y.device, 3);
    cudaMemcpy(got, y.device, sizeof got, cudaMemcpyDeviceToHost);
    double worst = 0;
    for (int j = 0; j < N; j++) {
        double sum = 0.5 * ((float *)y.host)[3 * j];
        for (int i = 0; i < N; i++) sum += ((float *)a.host)[j * N + i] * ((float *)x.host)[2 * i];
        worst = fmax(worst, fabs(sum - got[3 * j]));
        if (got[3 * j + 1] != ((float *)y.host)[3 * j + 1]) worst = 1;
    }
    tap(worst < 1e-4, "gemv, with increments");
    tap(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one_, a.device, N - 1, a.device, N,
                    &half_, y.device, N) == CUBLAS_STATUS_INVALID_VALUE,
        "a leading dimension that is too small");
    tap(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one_, a.device, N, a.device, N, &half_,
                    y.device, N) == CUBLAS_STATUS_EXECUTION_FAILED,
        "a result that leaves its allocation");
    tap(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one_, a.host, N, a.device, N, &half_,
                    y.device, N) == CUBLAS_STATUS_EXECUTION_FAILED,
        "a matrix of the host");
    tap(cublasSgemm(NULL, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one_, a.device, N, a.device, N,
                    &half_, y.device, N) == CUBLAS_STATUS_NOT_INITIALIZED,
        "no handle");
    float nan_ = NAN, zero = 0;
    cudaMemcpy(y.device, &nan_, 4, cudaMemcpyHostToDevice);
    cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, N, &one_, a.device, 1, a.device, N, &zero,
                y.device, 1);
    cudaMemcpy(got, y.device, 4, cudaMemcpyDeviceToHost);
    tap(isfinite(got[0]), "with beta 0 the old result isn't read");
}

static double after(cublasLtEpilogue_t e, double v, double bias) {
    if (e & CUBLASLT_EPILOGUE_BIAS) v += bias;
    if (e & CUBLASLT_EPILOGUE_RELU) v = fmax(v, 0);
    if (e & CUBLASLT_EPILOGUE_GELU)
        v = 0.5 * v * (1 + tanh(sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
    return v;
}

/* One matmul of cuBLASLt, two products, D apart from C; the worst error over its tolerance. */
static double lt(cublasLtHandle_t h, cublasLtEpilogue_t epilogue, cudaDataType type,
                 cudaDataType out, float alpha, float beta, cudaStream_t stream) {
    enum { M = 13, N = 9, K = 21, LD = M + 2, BATCH = 2 };
    struct operand a = operand(BATCH * K * M, type), b = operand(BATCH * K * N, type),
                   c = operand(BATCH * LD * N, out), d = operand(BATCH * LD * N, out),
                   bias = operand(M, CUDA_R_32F);
    cublasOperation_t t = CUBLAS_OP_T;
    cudaDataType bias_type = CUDA_R_32F;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t of[4];
    const struct {
        cudaDataType type;
        int rows, cols, ld;
    } shape[4] = {{type, K, M, K}, {type, K, N, K}, {out, M, N, LD}, {out, M, N, LD}};
    int batch = BATCH, bad = cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    for (int i = 0; i < 4; i++) {
        int64_t stride = (int64_t)shape[i].ld * shape[i].cols;
        bad |= cublasLtMatrixLayoutCreate(&of[i], shape[i].type, shape[i].rows, shape[i].cols,
                                          shape[i].ld);
        bad |= cublasLtMatrixLayoutSetAttribute(of[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                                sizeof batch);
        bad |= cublasLtMatrixLayoutSetAttribute(of[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                &stride, sizeof stride);
    }
    bad |= cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &t, sizeof t);
    bad |= cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                          sizeof epilogue);
    bad |= cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias.device,
                                          sizeof bias.device);
    bad |= cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &bias_type,
                                          sizeof bias_type);
    bad |= cublasLtMatmul(h, desc, &alpha, a.device, of[0], b.device, of[1], &beta, c.device, of[2],
                          d.device, of[3], NULL, NULL, 0, stream);
    cudaStreamSynchronize(stream);
    void *got = malloc(d.n * bytes_of(out));
    cudaMemcpy(got, d.device, d.n * bytes_of(out), cudaMemcpyDeviceToHost);
    double worst = bad ? 1e9 : 0, ulp = out == CUDA_R_16BF ? 1.0 / 256 : 2e-6;
    for (int q = 0; q < BATCH; q++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < M; i++) {
                double sum = 0, size = 0;
                for (int p = 0; p < K; p++) {
                    double x = widen(a.host, type, (size_t)(q * M + i) * K + p),
                           y = widen(b.host, type, (size_t)(q * N + j) * K + p);
                    sum += x * y, size += fabs(x * y);
                }
                size_t at = (size_t)(q * N + j) * LD + i;
                double want = after(epilogue, alpha * sum + beta * widen(c.host, out, at),
                                    widen(bias.host, CUDA_R_32F, i));
                double error = fabs(widen(got, out, at) - want);
                worst = isfinite(error)
                            ? fmax(worst, error / (ulp * (fabs(want) + 1e-3) + 1e-6 * size))
                            : 1e9;
            }
    for (int i = 0; i < 4; i++) cublasLtMatrixLayoutDestroy(of[i]);
    cublasLtMatmulDescDestroy(desc);
    drop(&a), drop(&b), drop(&c), drop(&d), drop(&bias);
    free(got);
    return worst;
}

static void lt_calls(void) {
    static const cublasLtEpilogue_t all[] = {
        CUBLASLT_EPILOGUE_DEFAULT,   CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU,
        CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS};
    cublasLtHandle_t h;
    cudaStream_t stream;
    double worst = cublasLtCreate(&h) ? 1e9 : 0;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    for (int i = 0; i < 6; i++) {
        worst = fmax(worst, lt(h, all[i], CUDA_R_32F, CUDA_R_32F, 1, 0, stream));
        worst = fmax(worst, lt(h, all[i], CUDA_R_16BF, CUDA_R_16BF, 0.25f, 0, 0));
        worst = fmax(worst, lt(h, all[i], CUDA_R_16BF, CUDA_R_32F, 0.25f, 2, stream));
        worst = fmax(worst, lt(h, all[i], CUDA_R_32F, CUDA_R_32F, 0.25f, -1, stream));
    }
    char text[128];
    snprintf(text, sizeof text, "cublasLtMatmul, six epilogues: worst error %.2f of the tolerance",
             worst);
    tap(worst < 1, text);
    cublasLtEpilogue_t odd = (cublasLtEpilogue_t)160;
    tap(lt(h, odd, CUDA_R_32F, CUDA_R_32F, 1, 0, 0) > 1e6, "an epilogue that it lacks is refused");
    cudaStreamDestroy(stream);
    cublasLtDestroy(h);
}

int main(void) {
    cublasHandle_t h;
    tap(cublasCreate(&h) == CUBLAS_STATUS_SUCCESS, "a handle");
    all_shapes(h, "float", CUDA_R_32F, CUDA_R_32F);
    all_shapes(h, "double", CUDA_R_64F, CUDA_R_64F);
    all_shapes(h, "half", CUDA_R_16F, CUDA_R_16F);
    all_shapes(h, "half into float", CUDA_R_16F, CUDA_R_32F);
    all_shapes(h, "bf16", CUDA_R_16BF, CUDA_R_16BF);
    all_shapes(h, "bf16 into float", CUDA_R_16BF, CUDA_R_32F);
    all_shapes(h, "int8 into int32", CUDA_R_8I, CUDA_R_32I);
    other_calls(h);
    lt_calls();
    cublasDestroy(h);
    printf("1..%d\n", count);
    return failed != 0;
}
