__global__ void k(float *x) {
    __shared__ float s[4];
    s[threadIdx.x] = x[threadIdx.x];
    x[0] = undeclared; //! undeclared
}
