#include <cublasLt.h> //! cublasGemmEx of cublas_v2.h

int main() {
    return 0;
}
