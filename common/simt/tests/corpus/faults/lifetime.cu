/* lifetime.cu: faults: memory that was freed, was never written, or belongs to the host. */
#include "corpus.cuh"
#include <cuda_fp16.h>

__global__ void read_all(const int *x, int *out) {
    out[threadIdx.x] = x[threadIdx.x]; // FAULT: use-after-free
}
CASE(read_after_free) {
    int *x = device_copy(some<int>(32)), *out = device_filled<int>(32, 0);
    cudaFree(x);
    read_all<<<1, 32>>>(x, out);
    return true;
}

__global__ void write_all(int *x) {
    x[threadIdx.x] = 1; // FAULT: use-after-free
}
CASE(write_after_free) {
    int *x = device_filled<int>(32, 0);
    guard g(x);
    cudaFree(x);
    write_all<<<1, 32>>>(x);
    return g.holds();
}

__global__ void fill_later(int *x, int v) {
    x[threadIdx.x] = v; // FAULT: use-after-free
}
CASE(freed_and_another_one_allocated) {
    int *x = device_filled<int>(64, 0);
    fill_later<<<1, 64>>>(x, 1);
    cudaFree(x);
    int *y = device_filled<int>(64, 0);
    fill_later<<<1, 64>>>(y, 2);
    fill_later<<<1, 64>>>(x, 3);
    return true;
}

struct view {
    const float *data;
    int n;
};
__global__ void sum_view(const view *v, float *out) {
    float sum = 0;
    for (int i = 0; i < v->n; i++) sum += v->data[i]; // FAULT: use-after-free
    *out = sum;
}
CASE(pointer_kept_in_a_structure) {
    float *data = device_copy(some<float>(16));
    view *v = device_copy(std::vector<view>(1, view{data, 16}));
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaFreeAsync(data, s);
    sum_view<<<1, 1, 0, s>>>(v, device_filled<float>(1, 0));
    return true;
}

__global__ void add_after_free(int *count) {
    atomicAdd(count, 1); // FAULT: use-after-free
}
CASE(atomic_after_free) {
    int *count = device_filled<int>(1, 0);
    guard g(count);
    cudaFree(count);
    add_after_free<<<1, 32>>>(count);
    return g.holds();
}

/* ---- uninitialised ---- */
__global__ void copy_it(const float *x, float *y) {
    y[threadIdx.x] = x[threadIdx.x]; // FAULT: uninitialised
}
CASE(global_memory_never_written) {
    float *x = nullptr;
    cudaMalloc(&x, 32 * sizeof(float));
    copy_it<<<1, 32>>>(x, device_filled<float>(32, 0));
    return true;
}

__global__ void square(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i]; // FAULT: uninitialised
}
CASE(bytes_and_elements_mixed_up) {
    std::vector<float> in = some<float>(100);
    float *x = nullptr;
    cudaMalloc(&x, 100 * sizeof(float));
    cudaMemcpy(x, in.data(), 100, cudaMemcpyHostToDevice);
    square<<<4, 32>>>(x, device_filled<float>(100, 0), 100);
    return true;
}

__global__ void accumulate(const int *in, int *bin) {
    atomicAdd(&bin[in[threadIdx.x]], 1); // FAULT: uninitialised
}
CASE(histogram_never_cleared) {
    int *bin = nullptr;
    cudaMalloc(&bin, 16 * sizeof(int));
    accumulate<<<1, 64>>>(device_copy(some<int>(64)), bin);
    return true;
}

__global__ void first_half(float *x, int n) {
    if ((int)threadIdx.x < n) x[threadIdx.x] = 1;
}
__global__ void sum_up(const float *x, float *out, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += x[i]; // FAULT: uninitialised
    *out = sum;
}
CASE(first_kernel_wrote_too_little) {
    float *x = nullptr;
    cudaMalloc(&x, 64 * sizeof(float));
    first_half<<<1, 64>>>(x, 63);
    sum_up<<<1, 1>>>(x, device_filled<float>(1, 0), 64);
    return true;
}

__global__ void odd_ones(__half *x) {
    x[2 * threadIdx.x + 1] = __float2half(1);
}
__global__ void read_pairs(const __half *x, float *out) {
    out[threadIdx.x] = __half2float(x[2 * threadIdx.x]); // FAULT: uninitialised
}
CASE(the_other_half_of_a_word) {
    __half *x = nullptr;
    cudaMalloc(&x, 64 * sizeof(__half));
    odd_ones<<<1, 32>>>(x);
    read_pairs<<<1, 32>>>(x, device_filled<float>(32, 0));
    return true;
}

__global__ void use_again(const int *x, int *out) {
    out[threadIdx.x] = x[threadIdx.x] + 1; // FAULT: uninitialised
}
CASE(allocated_again_but_not_written) {
    int *x = device_copy(some<int>(32));
    cudaFree(x);
    cudaMalloc(&x, 32 * sizeof(int));
    use_again<<<1, 32>>>(x, device_filled<int>(32, 0));
    return true;
}

__global__ void sum_shared(const int *in, int *out) {
    __shared__ int sum;
    __syncthreads();
    atomicAdd(&sum, in[threadIdx.x]); // FAULT: uninitialised
    __syncthreads();
    if (threadIdx.x == 0) *out = sum;
}
CASE(shared_sum_never_cleared) {
    sum_shared<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(1, 0));
    return true;
}

__global__ void ragged_tree(const int *in, int *out, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t < n) s[t] = in[t];
    __syncthreads();
    if (t < 32) out[t] = s[t] + s[t + 32]; // FAULT: uninitialised
}
CASE(shared_array_partly_written) {
    ragged_tree<<<1, 64>>>(device_copy(some<int>(50)), device_filled<int>(32, 0), 50);
    return true;
}

__global__ void only_first_block(const int *in, int *out) {
    __shared__ int kept;
    if (blockIdx.x == 0 && threadIdx.x == 0) kept = in[0];
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = kept; // FAULT: uninitialised
}
CASE(value_of_the_block_before) {
    only_first_block<<<2, 32>>>(device_copy(some<int>(1)), device_filled<int>(64, 0));
    return true;
}

__global__ void vector_of_shared(float *out) {
    __shared__ __align__(16) float s[32];
    int t = threadIdx.x;
    if (t % 4 < 2) s[t] = t;
    __syncthreads();
    if (t < 8) out[t] = ((float4 *)s)[t].w; // FAULT: uninitialised
}
CASE(end_of_a_vector_never_written) {
    vector_of_shared<<<1, 32>>>(device_filled<float>(8, 0));
    return true;
}

/* ---- host memory ---- */
__global__ void add_one(int *x) {
    x[threadIdx.x] += 1; // FAULT: host-pointer
}
CASE(pointer_from_malloc) {
    int *x = (int *)calloc(32, sizeof(int)), sum = 0;
    add_one<<<1, 32>>>(x);
    cudaDeviceSynchronize();
    for (int i = 0; i < 32; i++) sum += x[i];
    free(x);
    return sum == 0;
}

__global__ void set_result(int *result, int v) {
    if (threadIdx.x == 0) *result = v; // FAULT: host-pointer
}
CASE(address_of_a_local_variable) {
    int result = 5;
    set_result<<<1, 32>>>(&result, 9);
    cudaDeviceSynchronize();
    return result == 5;
}

static float host_table[16];
__global__ void read_table(const float *table, float *out) {
    out[threadIdx.x] = table[threadIdx.x]; // FAULT: host-pointer
}
CASE(static_array_of_the_host) {
    host_table[3] = 1;
    read_table<<<1, 16>>>(host_table, device_filled<float>(16, 0));
    return true;
}

__global__ void read_vector(const float *x, float *out) {
    float v = x[threadIdx.x]; // FAULT: host-pointer
    out[threadIdx.x] = v;
}
CASE(data_of_a_vector) {
    std::vector<float> x = some<float>(32);
    read_vector<<<1, 32>>>(x.data(), device_filled<float>(32, 0));
    return true;
}

struct layer {
    const float *weights;
    float *out;
};
__global__ void run_layer(const layer *l) {
    l->out[threadIdx.x] = 2 * l->weights[threadIdx.x]; // FAULT: host-pointer
}
CASE(structure_with_a_host_pointer) {
    std::vector<float> w = some<float>(32);
    layer l = {w.data(), device_filled<float>(32, 0)};
    run_layer<<<1, 32>>>(device_copy(std::vector<layer>(1, l)));
    return true;
}

__global__ void produce(int *x) {
    x[threadIdx.x] = threadIdx.x;
}
CASE(host_reads_device_memory) {
    int *x = device_filled<int>(32, 0);
    produce<<<1, 32>>>(x);
    cudaDeviceSynchronize();
    return x[3] == 3; // FAULT: host-pointer
}
