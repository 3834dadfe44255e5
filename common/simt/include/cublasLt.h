/* cublasLt.h: refused here, before an installed toolkit's file of that name is mixed with ours. */
#error                                                                                             \
    "cublasLt can't run on the CPU here: use cublasGemmEx of cublas_v2.h, and a kernel for the epilogue"
