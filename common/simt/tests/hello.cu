/* hello.cu: the smallest useful kernel: y = a x + y. */
#include <cstdio>
#include <cuda_runtime.h>

__global__ void saxpy(float *y, const float *x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

int main() {
    const int n = 1000;
    float x[n], y[n], *dx, *dy;
    for (int i = 0; i < n; i++) x[i] = (float)i, y[i] = 1;
    cudaMalloc(&dx, sizeof x);
    cudaMalloc(&dy, sizeof y);
    cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
    cudaMemcpy(dy, y, sizeof y, cudaMemcpyHostToDevice);
    saxpy<<<(n + 255) / 256, 256>>>(dy, dx, 2.0f, n);
    cudaMemcpy(y, dy, sizeof y, cudaMemcpyDeviceToHost);
    printf("%s, y[999] = %g\n", cudaGetErrorString(cudaGetLastError()), (double)y[999]);
    return y[999] != 1999;
}
