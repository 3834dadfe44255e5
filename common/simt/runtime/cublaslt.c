/* cublaslt.c: cuBLASLt's descriptions, and its matmul over product.h. */
#include "fault.h"
#include "product.h"

#include <stdlib.h>
#include <string.h>

struct cublasLtContext {
    int unused;
};
struct cublasLtMatmulDesc {
    cublasComputeType_t compute;
    cudaDataType scale;
    cublasOperation_t ta, tb;
    cublasLtEpilogue_t epilogue;
    const void *bias;
    int bias_type; /* -1: the type of D */
};
struct cublasLtMatrixLayout {
    cudaDataType type;
    int rows, cols, ld, batch;
    int64_t stride;
};
struct cublasLtMatmulPreference {
    size_t workspace;
};

/* Every object is a block of memory. */
static cublasStatus_t make(void **out, size_t bytes) {
    if (!out) return CUBLAS_STATUS_INVALID_VALUE;
    *out = calloc(1, bytes);
    return *out ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

static cublasStatus_t unmake(void *p) {
    free(p);
    return p ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

static cublasStatus_t set(void *field, size_t size, const void *value, size_t bytes) {
    if (!value || bytes != size) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(field, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
    return make((void **)handle, sizeof **handle);
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    return unmake(handle);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
    cublasStatus_t status = make((void **)desc, sizeof **desc);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    **desc = (struct cublasLtMatmulDesc){
        .compute = compute, .scale = scale, .epilogue = CUBLASLT_EPILOGUE_DEFAULT, .bias_type = -1};
    return status;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
    return unmake(desc);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attr,
                                              const void *value, size_t bytes) {
    switch (attr) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
        return set(&desc->ta, sizeof desc->ta, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
        return set(&desc->tb, sizeof desc->tb, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
        return set(&desc->epilogue, sizeof desc->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        return set(&desc->bias, sizeof desc->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
        return set(&desc->bias_type, sizeof desc->bias_type, value, bytes);
    }
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld) {
    if (rows > INT32_MAX || cols > INT32_MAX || ld < 0 || ld > INT32_MAX)
        return CUBLAS_STATUS_INVALID_VALUE;
    cublasStatus_t status = make((void **)layout, sizeof **layout);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    **layout = (struct cublasLtMatrixLayout){type, (int)rows, (int)cols, (int)ld, 1, 0};
    return status;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
    return unmake(layout);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attr,
                                                const void *value, size_t bytes) {
    switch (attr) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
        return set(&layout->batch, sizeof layout->batch, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
        return set(&layout->stride, sizeof layout->stride, value, bytes);
    }
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
    return make((void **)preference, sizeof **preference);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
    return unmake(preference);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attr,
                                                    const void *value, size_t bytes) {
    if (attr != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) return CUBLAS_STATUS_NOT_SUPPORTED;
    return set(&preference->workspace, sizeof preference->workspace, value, bytes);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t *results,
                                              int *found) {
    (void)c;
    (void)preference;
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!desc || !a || !b || !d || wanted < 1 || !results || !found)
        return CUBLAS_STATUS_INVALID_VALUE;
    *found = product_types_fit(a->type, b->type, d->type);
    *results = (cublasLtMatmulHeuristicResult_t){.state = CUBLAS_STATUS_SUCCESS, .wavesCount = 1};
    return *found ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

static struct matrix matrix_of(const void *p, const struct cublasLtMatrixLayout *l, int batch) {
    return (struct matrix){product_offset(p, batch * l->stride, l->type), l->type, l->rows, l->cols,
                           l->ld};
}

static bool epilogue_known(cublasLtEpilogue_t e) {
    return e == CUBLASLT_EPILOGUE_DEFAULT || e == CUBLASLT_EPILOGUE_RELU ||
           e == CUBLASLT_EPILOGUE_BIAS || e == CUBLASLT_EPILOGUE_RELU_BIAS ||
           e == CUBLASLT_EPILOGUE_GELU || e == CUBLASLT_EPILOGUE_GELU_BIAS;
}

/* The epilogue of a product whose D is known. */
static cublasStatus_t set_epilogue(struct product *x, const struct cublasLtMatmulDesc *desc) {
    if (desc->epilogue == CUBLASLT_EPILOGUE_DEFAULT) return CUBLAS_STATUS_SUCCESS;
    if (!epilogue_known(desc->epilogue) || x->d.type == CUDA_R_64F || x->d.type == CUDA_R_32I)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    x->epilogue = desc->epilogue;
    if (!(desc->epilogue & CUBLASLT_EPILOGUE_BIAS)) return CUBLAS_STATUS_SUCCESS;
    if (!desc->bias) return CUBLAS_STATUS_INVALID_VALUE;
    cudaDataType type = desc->bias_type < 0 ? x->d.type : (cudaDataType)desc->bias_type;
    x->bias = (struct matrix){desc->bias, type, x->g.m, 1, x->g.m};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                              cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t workspace_bytes, cudaStream_t stream) {
    (void)algo;
    (void)workspace;
    (void)workspace_bytes;
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!desc || !alpha || !beta || !a_layout || !b_layout || !c_layout || !d_layout)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!product_types_fit(a_layout->type, b_layout->type, d_layout->type) ||
        c_layout->type != d_layout->type)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (fault_in("cublasLtMatmul")) return CUBLAS_STATUS_EXECUTION_FAILED;
    int k = desc->ta == CUBLAS_OP_N ? a_layout->cols : a_layout->rows;
    struct product x = product_of(desc->ta, desc->tb, d_layout->rows, d_layout->cols, k);
    if (a_layout->rows != x.a.rows || a_layout->cols != x.a.columns || b_layout->rows != x.b.rows ||
        b_layout->cols != x.b.columns || c_layout->rows != x.g.m || c_layout->cols != x.g.n)
        return CUBLAS_STATUS_INVALID_VALUE;
    x.alpha = product_scalar(alpha, desc->compute), x.beta = product_scalar(beta, desc->compute);
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (int i = 0; i < d_layout->batch && status == CUBLAS_STATUS_SUCCESS; i++) {
        x.a = matrix_of(a, a_layout, i), x.b = matrix_of(b, b_layout, i);
        x.d = matrix_of(d, d_layout, i);
        x.c = x.beta == 0 ? x.d : matrix_of(c, c_layout, i);
        status = set_epilogue(&x, desc);
        if (status == CUBLAS_STATUS_SUCCESS) status = product_give(&x, stream);
    }
    return status;
}
