struct pair {
    float a, b;
    __device__ pair(float x) : a(x), b(x) {}
};

__global__ void k(float *x) {
    __shared__ float sums[4], last;
    __shared__ pair first(1); //! initialised
    sums[0] = last = 0;
    x[0] = first.a;
}
