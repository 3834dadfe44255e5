/* gemm.cu: four products of 128 x 128 floats, whose counts are known (test_counts.py). */
#include "tap.cuh"

enum { N = 128, T = 32 };

__global__ void naive(const float *a, const float *b, float *c) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < N; k++) sum += a[row * N + k] * b[k * N + column];
    c[row * N + column] = sum;
}
__global__ void by_rows(const float *a, const float *b, float *c) {
    int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < N; k++) sum += a[row * N + k] * b[k * N + column];
    c[row * N + column] = sum;
}
__global__ void tiles(const float *a, const float *b, float *c) {
    __shared__ float at[T][T], bt[T][T];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * T + x, row = blockIdx.y * T + y;
    float sum = 0;
    for (int k = 0; k < N; k += T) {
        at[y][x] = a[row * N + k + x];
        bt[y][x] = b[(k + y) * N + column];
        __syncthreads();
        for (int i = 0; i < T; i++) sum += at[y][i] * bt[i][x];
        __syncthreads();
    }
    c[row * N + column] = sum;
}
__global__ void tiles_transposed(const float *a, const float *b, float *c) {
    __shared__ float at[T][T], bt[T][T];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * T + x, row = blockIdx.y * T + y;
    float sum = 0;
    for (int k = 0; k < N; k += T) {
        at[y][x] = a[row * N + k + x];
        bt[x][y] = b[(k + y) * N + column]; /* 32 lanes, one bank */
        __syncthreads();
        for (int i = 0; i < T; i++) sum += at[y][i] * bt[x][i];
        __syncthreads();
    }
    c[row * N + column] = sum;
}

int main() {
    std::vector<float> a(N * N), b(N * N);
    for (int i = 0; i < N * N; i++) a[i] = (float)(i * 7 % 13 - 6), b[i] = (float)(i * 5 % 11 - 5);
    float *da = device_copy(a), *db = device_copy(b), *dc = device_filled<float>(N * N, 255);
    void (*kernels[])(const float *, const float *, float *) = {naive, by_rows, tiles,
                                                                tiles_transposed};
    dim3 block(32, 32), grid(N / 32, N / 32);
    for (int v = 0; v < 4; v++) {
        if (v == 0) naive<<<grid, block>>>(da, db, dc);
        if (v == 1) by_rows<<<grid, block>>>(da, db, dc);
        if (v == 2) tiles<<<grid, block>>>(da, db, dc);
        if (v == 3) tiles_transposed<<<grid, block>>>(da, db, dc);
        std::vector<float> c = host_copy(dc, N * N);
        int wrong = kernels[v] == nullptr;
        for (int i = 0; i < N * N; i += 37) {
            float want = 0;
            for (int k = 0; k < N; k++) want += a[i / N * N + k] * b[k * N + i % N];
            wrong += c[i] != want;
        }
        TAP(wrong == 0, "product %d", v);
    }
    return tap_failed != 0;
}
