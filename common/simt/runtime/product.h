/* product.h: one matrix product as a piece of a stream's work, shared by cublas.c and cublaslt.c.
 */
#ifndef SIMT_PRODUCT_H
#define SIMT_PRODUCT_H

#include "../include/cublasLt.h"
#include "gemm.h"

#include <stdbool.h>

struct matrix {
    const void *p;
    cudaDataType type;
    int rows, columns, ld;
};

/* d = epilogue(alpha op(a) op(b) + beta c); g has sizes and transpositions. */
struct product {
    struct gemm g;
    struct matrix a, b, c, d;
    double alpha, beta;
    cublasLtEpilogue_t epilogue; /* 0: none */
    struct matrix bias;          /* (rows of d, 1) */
};

/* With the shapes of a, b, c and d. */
struct product product_of(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k);
/* The pairs of types that cuBLAS has. */
bool product_types_fit(cudaDataType a, cudaDataType b, cudaDataType c);
double product_scalar(const void *p, cublasComputeType_t compute);
/* p, so many elements on. */
const void *product_offset(const void *p, long long elements, cudaDataType type);
/* Checks x and gives it to the stream. */
cublasStatus_t product_give(const struct product *x, cudaStream_t stream);

#endif
