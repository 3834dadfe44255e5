__global__ void k(float *x) {
    __shared__ float first __attribute__((aligned(16))); //! before its type
    x[0] = first;
}
