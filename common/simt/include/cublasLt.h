/* cublasLt.h: refuses cublasLt, so that an installed toolkit's header isn't mixed with simt's. */
#error                                                                                             \
    "cublasLt can't run on the CPU here: use cublasGemmEx of cublas_v2.h, and a kernel for the epilogue"
