/* crashes.cu: kernels that die by a signal on a CPU; test_refusals.py runs one at a time. */
#include <cassert>

__device__ int deep(int n, volatile char *over) {
    volatile char here[4096];
    here[n & 4095] = (char)n;
    return n == 0 ? here[0] : deep(n - 1, here) + over[0];
}
__global__ void divides(int *x) {
    x[0] = 7 / x[1];
}
__global__ void asserts(int *x) {
    assert(x[0] == 1);
    x[1] = 2;
}
__global__ void recurses(int *x) {
    volatile char c[1] = {0};
    x[0] = deep(100, c);
}

int main(int argc, char **argv) {
    int *x;
    cudaMalloc(&x, 64);
    cudaMemset(x, 0, 64);
    if (argc < 2 || *argv[1] == 'd')
        divides<<<1, 1>>>(x);
    else if (*argv[1] == 'a')
        asserts<<<1, 1>>>(x);
    else
        recurses<<<1, 1>>>(x);
    return 0;
}
