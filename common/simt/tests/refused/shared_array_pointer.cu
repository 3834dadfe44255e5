__global__ void k(float *x) {
    __shared__ float(*row)[4]; //! typedef
    x[0] = (*row)[0];
}
