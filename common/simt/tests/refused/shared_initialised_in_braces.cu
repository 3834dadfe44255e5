__global__ void k(float *x) {
    __shared__ float first{1}; //! initialised
    x[0] = first;
}
