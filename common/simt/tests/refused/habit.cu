#include <cuda.h>

__global__ void k(int *x) {
    x[0] = CUDA_VERSION;
}

int main() {
    int *x;
    cudaMalloc(&x, sizeof *x);
    k<<<1, 1>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess;
}
