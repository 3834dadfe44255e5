/* speed.cu: the kernels of SPEED.md. speed KERNEL N: runs it twice, checks the second result. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <vector>

__global__ void vector_add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
__global__ void block_sums(const float *x, float *out, int n) { /* 10 barriers a thread */
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) atomicAdd(out, s[0]);
}
__global__ void warp_sums(const float *x, float *out, int n) { /* 5 shuffles a thread */
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = i < n ? x[i] : 0;
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0) atomicAdd(out, v);
}
__global__ void product(const float *a, const float *b, float *c, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}
__global__ void product_tiles(const float *a, const float *b, float *c, int n) {
    __shared__ float at[32][32], bt[32][32];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 32 + x, row = blockIdx.y * 32 + y;
    float sum = 0;
    for (int k = 0; k < n; k += 32) {
        at[y][x] = a[row * n + k + x];
        bt[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < 32; i++) sum += at[y][i] * bt[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

static float *to_device(const std::vector<float> &v) {
    float *p;
    if (cudaMalloc(&p, v.size() * sizeof(float)) != cudaSuccess) exit(2);
    cudaMemcpy(p, v.data(), v.size() * sizeof(float), cudaMemcpyHostToDevice);
    return p;
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "vector_add";
    int n = argc > 2 ? atoi(argv[2]) : 1 << 20;
    bool matrix = strncmp(name, "product", 7) == 0;
    size_t count = matrix ? (size_t)n * n : (size_t)n;
    std::vector<float> x(count), y(count);
    for (size_t i = 0; i < count; i++) x[i] = (float)(i % 7) - 2, y[i] = (float)(i % 5);
    float *a = to_device(x), *b = to_device(y), *c = to_device(std::vector<float>(count, 0.0f));
    dim3 block(32, 32), grid(n / 32, n / 32);
    int blocks = (n + 255) / 256;
    for (int run = 0; run < 2; run++) {
        cudaMemset(c, 0, sizeof(float));
        if (!strcmp(name, "vector_add"))
            vector_add<<<blocks, 256>>>(a, b, c, n);
        else if (!strcmp(name, "block_sums"))
            block_sums<<<blocks, 256>>>(a, c, n);
        else if (!strcmp(name, "warp_sums"))
            warp_sums<<<blocks, 256>>>(a, c, n);
        else if (!strcmp(name, "product"))
            product<<<grid, block>>>(a, b, c, n);
        else
            product_tiles<<<grid, block>>>(a, b, c, n);
        cudaDeviceSynchronize();
    }
    float got[4];
    double want = 0;
    cudaMemcpy(got, c, sizeof got, cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < (matrix ? (size_t)n : count); i++)
        want += matrix ? (double)x[i] * y[i * n] : (double)x[i];
    if (!strcmp(name, "vector_add")) want = x[0] + y[0];
    double off = got[0] - want;
    printf("%s %g want %g\n", name, (double)got[0], want);
    return off * off > 1e-6 * want * want + 1e-6;
}
