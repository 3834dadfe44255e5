/* hiding.c: launches the kernel `copy` once. Exit status 0 when the output equals the input. */
#include <cuda_runtime_api.h>

#include <stdio.h>
#include <stdlib.h>

enum { N = 5003, THREADS = 128 };

int main(void) {
    static float host[N], back[N];
    float *in, *out;
    int n = N;
    for (int i = 0; i < N; i++) host[i] = (float)(i % 1000) / 1024.0f;
    cudaMalloc((void **)&in, sizeof host);
    cudaMalloc((void **)&out, sizeof host);
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    void *args[] = {&out, &in, &n};
    const void *kernel = simt_find_kernel("copy");
    if (!kernel) return 2;
    cudaLaunchKernel(kernel, (dim3){(N + THREADS - 1) / THREADS, 1, 1}, (dim3){THREADS, 1, 1}, args,
                     0, 0);
    if (cudaDeviceSynchronize() != cudaSuccess) return 3;
    cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost);
    for (int i = 0; i < N; i++)
        if (back[i] != host[i]) return 1;
    return 0;
}
