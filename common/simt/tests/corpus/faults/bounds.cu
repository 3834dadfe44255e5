/* bounds.cu: each kernel has one access outside of what it may touch. The guards see that a stray
 * write was stopped. */
#include "corpus.cuh"
#include <cuda_fp16.h>

__global__ void fill(int *x, int n) {
    for (int i = threadIdx.x; i <= n; i += blockDim.x) x[i] = i; // FAULT: out-of-bounds
}
CASE(one_past_the_end) {
    int *x = device_filled<int>(100, 0);
    guard g(x + 100);
    fill<<<1, 32>>>(x, 100);
    return g.holds();
}

__global__ void no_guard(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i % 7] + 1; // FAULT: out-of-bounds
}
CASE(ragged_last_block_without_test) {
    float *y = device_filled<float>(100, 0);
    guard g(y + 100);
    no_guard<<<2, 64>>>(device_copy(some<float>(7)), y);
    return g.holds();
}

__global__ void difference(const int *x, int *y, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = x[i] - x[i - 1]; // FAULT: out-of-bounds
}
CASE(read_before_the_start) {
    difference<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0), 32);
    return true;
}

__global__ void write_before(int *x) {
    x[(int)threadIdx.x - 2] = 1; // FAULT: out-of-bounds
}
CASE(write_before_the_start) {
    int *before = device_filled<int>(10, 0), *x = device_filled<int>(10, 0);
    guard g((char *)x - guard::BYTES);
    write_before<<<1, 1>>>(x);
    return g.holds() && before;
}

__global__ void fill_bytes(char *x, int n) {
    int i = threadIdx.x;
    if (i <= n) x[i] = 'a'; // FAULT: out-of-bounds
}
CASE(one_byte_past_the_end) {
    char *x = device_filled<char>(61, 0);
    guard g(x + 61);
    fill_bytes<<<1, 64>>>(x, 61);
    return g.holds();
}

__global__ void fill_vectors(float4 *x, int n) {
    int i = threadIdx.x;
    if (4 * i < n) x[i] = make_float4(1, 2, 3, 4); // FAULT: out-of-bounds
}
CASE(vector_over_the_end) {
    float *x = device_filled<float>(42, 0);
    guard g(x + 40);
    fill_vectors<<<1, 32>>>((float4 *)x, 42);
    return g.holds();
}

__global__ void add_pairs(const __half2 *x, float *out, int n) {
    int i = threadIdx.x;
    if (i <= n / 2) out[i] = __half22float2(x[i]).y; // FAULT: out-of-bounds
}
CASE(pair_of_half_over_the_end) {
    __half *x = device_copy(some<__half>(33));
    add_pairs<<<1, 32>>>((const __half2 *)x, device_filled<float>(32, 0), 33);
    return true;
}

__global__ void far_away(const int *x, int *out, int stride) {
    *out = x[threadIdx.x * stride]; // FAULT: out-of-bounds
}
CASE(index_that_overflows) {
    far_away<<<1, 3>>>(device_copy(some<int>(16)), device_filled<int>(1, 0), 1 << 30);
    return true;
}

__global__ void swap_axes(const int *in, int *out, int width, int height) {
    int x = threadIdx.x, y = threadIdx.y;
    if (x < width && y < height) out[y * width + x] = in[x * width + y]; // FAULT: out-of-bounds
}
CASE(rows_and_columns_mixed_up) {
    int *in = device_copy(some<int>(16 * 4)), *out = device_filled<int>(16 * 4, 0);
    swap_axes<<<1, dim3(16, 4)>>>(in, out, 16, 4);
    return true;
}

__global__ void maybe_null(const float *x, const float *bias, float *y) {
    int i = threadIdx.x;
    y[i] = x[i] + bias[i]; // FAULT: out-of-bounds
}
CASE(null_pointer) {
    float *x = device_copy(some<float>(32));
    maybe_null<<<1, 32>>>(x, nullptr, x);
    return true;
}

__global__ void count_all(const int *in, int *bin) {
    atomicAdd(&bin[in[threadIdx.x]], 1); // FAULT: out-of-bounds
}
CASE(atomic_outside_of_the_bins) {
    std::vector<int> in = some<int>(32);
    in[20] = 16;
    int *bin = device_filled<int>(16, 0);
    guard g(bin + 16);
    count_all<<<1, 32>>>(device_copy(in), bin);
    return g.holds();
}

struct item {
    int key;
    float value[5];
};
__global__ void last_items(const item *list, float *out, int n) {
    item it = list[n - threadIdx.x]; // FAULT: out-of-bounds
    out[threadIdx.x] = it.value[4];
}
CASE(structure_past_the_end) {
    item *list = device_filled<item>(10, 0);
    last_items<<<1, 8>>>(list, device_filled<float>(8, 0), 10);
    return true;
}

/* ---- device variables and constants ---- */
__device__ int table_before[4] = {9, 9, 9, 9}, table[8], table_after[4] = {7, 7, 7, 7};
__global__ void fill_table(int n) {
    int i = threadIdx.x;
    if (i <= n) table[i] = i; // FAULT: out-of-bounds
}
CASE(past_a_device_array) {
    void *p = nullptr;
    cudaGetSymbolAddress(&p, table);
    guard g((int *)p + 8);
    fill_table<<<1, 32>>>(8);
    return g.holds();
}

__device__ int ledger_before[4] = {9, 9, 9, 9}, ledger[8], ledger_after[4] = {7, 7, 7, 7};
__global__ void fill_ledger(int shift) {
    ledger[(int)threadIdx.x - shift] = 1; // FAULT: out-of-bounds
}
CASE(before_a_device_array) {
    void *p = nullptr;
    cudaGetSymbolAddress(&p, ledger);
    guard g((char *)p - guard::BYTES);
    fill_ledger<<<1, 4>>>(1);
    return g.holds();
}

__constant__ float factor[4];
__global__ void scale(float *x) {
    x[threadIdx.x] *= factor[threadIdx.x]; // FAULT: out-of-bounds
}
CASE(past_an_array_of_constants) {
    float f[4] = {1, 2, 3, 4};
    cudaMemcpyToSymbol(factor, f, sizeof f);
    scale<<<1, 5>>>(device_copy(some<float>(8)));
    return true;
}

/* ---- shared memory ---- */
__global__ void halo(const int *in, int *out) {
    __shared__ int row[64];
    int t = threadIdx.x;
    row[t + 1] = in[t]; // FAULT: out-of-bounds
    __syncthreads();
    out[t] = row[t + 1];
}
CASE(past_a_shared_array) {
    halo<<<1, 64>>>(device_copy(some<int>(64)), device_filled<int>(64, 0));
    return true;
}

__global__ void left_of(const int *in, int *out) {
    __shared__ int row[32];
    int t = threadIdx.x;
    row[t] = in[t];
    __syncthreads();
    out[t] = row[t] - row[t - 1]; // FAULT: out-of-bounds
}
CASE(before_a_shared_array) {
    left_of<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}

__global__ void two_arrays(const int *in, int *out) {
    __shared__ int first[33], second[32];
    int t = threadIdx.x;
    second[t] = in[t];
    first[t] = in[t];
    if (t == 0) first[32] = 0;
    __syncthreads();
    out[t] = first[t + 2] + second[t]; // FAULT: out-of-bounds
}
CASE(from_one_shared_array_into_the_next) {
    int *in = device_copy(some<int>(32));
    two_arrays<<<1, 32>>>(in, device_filled<int>(32, 0));
    return true;
}

__global__ void too_little(const int *in, int *out) {
    extern __shared__ int room_of_block[];
    int t = threadIdx.x;
    room_of_block[t] = in[t]; // FAULT: out-of-bounds
    __syncthreads();
    out[t] = room_of_block[(t + 1) % 64];
}
CASE(past_the_dynamic_shared_memory) {
    int *in = device_copy(some<int>(64)), *out = device_filled<int>(64, 0);
    too_little<<<1, 64, 60 * sizeof(int)>>>(in, out);
    return true;
}

__global__ void forgot_the_size(const int *in, int *out) {
    extern __shared__ int forgotten[];
    int t = threadIdx.x;
    forgotten[t] = in[t]; // FAULT: out-of-bounds
    __syncthreads();
    out[t] = forgotten[t];
}
CASE(launch_without_dynamic_memory) {
    forgot_the_size<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}

__global__ void shared_vectors(const float4 *in, float4 *out, int n) {
    __shared__ __align__(16) float tile[30];
    int t = threadIdx.x;
    if (4 * t < n) ((float4 *)tile)[t] = in[t]; // FAULT: out-of-bounds
    __syncthreads();
    if (4 * t < n) out[t] = ((float4 *)tile)[t];
}
CASE(vector_over_a_shared_end) {
    float *in = device_copy(some<float>(32)), *out = device_filled<float>(32, 0);
    shared_vectors<<<1, 8>>>((const float4 *)in, (float4 *)out, 30);
    return true;
}

__global__ void shared_text(const char *in, char *out) {
    __shared__ char text[30];
    int t = threadIdx.x;
    if (t <= 30) text[t] = in[t]; // FAULT: out-of-bounds
    __syncthreads();
    if (t < 30) out[t] = text[29 - t];
}
CASE(one_byte_past_shared_memory) {
    shared_text<<<1, 32>>>(device_filled<char>(32, 65), device_filled<char>(32, 0));
    return true;
}

struct frame {
    int head, body[31];
};
__global__ void past_the_frame(const int *in, int *out) {
    extern __shared__ frame whole;
    int t = threadIdx.x;
    if (t < 16) whole.body[t] = in[t]; // FAULT: out-of-bounds
    __syncthreads();
    out[t] = t < 15 ? whole.body[t] : 0;
}
CASE(a_structure_larger_than_the_dynamic_memory) {
    past_the_frame<<<1, 32, sizeof(frame) / 2>>>(device_copy(some<int>(32)),
                                                 device_filled<int>(32, 0));
    return true;
}

extern __shared__ int of_the_file[];
__global__ void past_the_end_of_file_scope(const int *in, int *out) {
    int t = threadIdx.x;
    of_the_file[t] = in[t]; // FAULT: out-of-bounds
    out[t] = of_the_file[t];
}
CASE(dynamic_memory_declared_outside_of_functions) {
    past_the_end_of_file_scope<<<1, 32, 31 * 4>>>(device_copy(some<int>(32)),
                                                  device_filled<int>(32, 0));
    return true;
}
