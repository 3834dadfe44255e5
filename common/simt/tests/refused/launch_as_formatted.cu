// Editors that don't know CUDA put spaces into <<< and >>>; nvcc takes it.
template <typename T> __global__ void fill(T *x, T v) {
    x[threadIdx.x] = v;
}
__global__ void k(int *x) {
    x[0] += 5 >> 1 << 2;
}

int main() {
    int *x, h;
    cudaMalloc(&x, 128);
    fill << <1, 32 >> > (x, 34);
    fill<int> << < dim3(1), 16 >> 1, 0 >>>(x, 34);
    k <<<1, 1 >> > (x);
    cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost);
    return h != 42;
}
