/* global.cu: correct kernels with global memory: shapes, types, neighbours. */
#include "corpus.cuh"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void axpy(float a, const float *__restrict__ x, float *y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * __ldg(&x[i]) + y[i];
}
CASE(grid_stride_loop) {
    const int n = 1003;
    std::vector<float> x = some<float>(n);
    float *y = device_filled<float>(n, 0);
    axpy<<<3, 96>>>(2, device_copy(x), y, n);
    std::vector<float> got = host_copy(y, n);
    bool good = true;
    for (int i = 0; i < n; i++) good &= got[i] == 2 * x[i];
    return good;
}

__global__ void square_some(int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    x[i] *= x[i];
    if (x[i] < 50) return;
    x[i] = -1;
}
CASE(early_return_without_barrier) {
    std::vector<int> in = some<int>(100);
    int *x = device_copy(in);
    square_some<<<2, 64>>>(x, 100);
    std::vector<int> got = host_copy(x, 100);
    bool good = true;
    for (int i = 0; i < 100; i++) good &= got[i] == (in[i] * in[i] < 50 ? in[i] * in[i] : -1);
    return good;
}

/* Four threads to a word, each with its own byte, read and written in place. */
__global__ void invert(unsigned char *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = (unsigned char)(255 - x[i]);
}
CASE(byte_neighbours_in_place) {
    std::vector<unsigned char> in = some<unsigned char>(203);
    unsigned char *x = device_copy(in);
    invert<<<3, 77>>>(x, 203);
    std::vector<unsigned char> got = host_copy(x, 203);
    bool good = true;
    for (int i = 0; i < 203; i++) good &= got[i] == 255 - in[i];
    return good;
}

/* Two threads to a word. */
template <class T> __global__ void twice(T *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] + x[i];
}
template <class T> static bool doubles(int n) {
    std::vector<T> in = some<T>(n);
    T *x = device_copy(in);
    twice<<<2, 70>>>(x, n);
    std::vector<T> got = host_copy(x, n);
    bool good = true;
    for (int i = 0; i < n; i++) good &= (float)got[i] == 2 * (float)in[i];
    return good;
}
CASE(half_neighbours_in_place) {
    return doubles<__half>(139);
}
CASE(bf16_neighbours_in_place) {
    return doubles<__nv_bfloat16>(139);
}

/* Odd bytes by one block, even ones by another: they meet in every word. */
__global__ void by_parity(unsigned short *x, int n) {
    for (int i = 2 * threadIdx.x + blockIdx.x; i < n; i += 2 * blockDim.x)
        x[i] += (unsigned short)i;
}
CASE(neighbours_of_two_blocks) {
    unsigned short *x = device_filled<unsigned short>(200, 0);
    by_parity<<<2, 32>>>(x, 200);
    std::vector<unsigned short> got = host_copy(x, 200);
    bool good = true;
    for (int i = 0; i < 200; i++) good &= got[i] == i;
    return good;
}

/* Whole words after bytes, ordered by a barrier. */
__global__ void bytes_then_words(unsigned *out) {
    __shared__ unsigned words[16];
    unsigned char *bytes = (unsigned char *)words;
    bytes[threadIdx.x] = (unsigned char)threadIdx.x;
    __syncthreads();
    if (threadIdx.x < 16) words[threadIdx.x] += 1;
    __syncthreads();
    out[threadIdx.x] = words[threadIdx.x / 4] + bytes[63 - threadIdx.x];
}
CASE(bytes_then_words) {
    unsigned *out = device_filled<unsigned>(64, 0);
    bytes_then_words<<<1, 64>>>(out);
    std::vector<unsigned> got = host_copy(out, 64);
    return got[0] == 0x03020101u + 63 && got[63] == 0x3f3e3d3du + 1;
}

__global__ void copy_vectors(const float4 *in, float4 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}
CASE(copy_by_float4) {
    std::vector<float> in = some<float>(400);
    float *out = device_filled<float>(400, 0);
    copy_vectors<<<4, 32>>>((const float4 *)device_copy(in), (float4 *)out, 100);
    return host_copy(out, 400) == in;
}

/* Vectors as far as they go, the rest one by one. */
__global__ void add_pairs(const __half2 *x, __half2 *y, int pairs) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs) y[i] = __hadd2(x[i], y[i]);
}
CASE(pairs_of_half) {
    std::vector<__half> x = some<__half>(130);
    __half *dx = device_copy(x), *dy = device_copy(x);
    add_pairs<<<1, 96>>>((const __half2 *)dx, (__half2 *)dy, 65);
    std::vector<__half> got = host_copy(dy, 130);
    bool good = true;
    for (int i = 0; i < 130; i++) good &= (float)got[i] == 2 * (float)x[i];
    return good;
}
__global__ void norm(const __nv_bfloat16 *x, float *out, int n) {
    const __nv_bfloat162 *pair = (const __nv_bfloat162 *)x;
    float sum = 0;
    for (int i = threadIdx.x; i < n / 2; i += 32) {
        float2 v = __bfloat1622float2(pair[i]);
        sum += v.x * v.x + v.y * v.y;
    }
    if (threadIdx.x == 0 && n % 2) sum += __bfloat162float(x[n - 1]) * __bfloat162float(x[n - 1]);
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x == 0) *out = sum;
}
CASE(pairs_of_bf16_with_a_tail) {
    std::vector<__nv_bfloat16> x = some<__nv_bfloat16>(97);
    float want = 0, *out = device_filled<float>(1, 0);
    for (int i = 0; i < 97; i++) want += (float)x[i] * (float)x[i];
    norm<<<1, 32>>>(device_copy(x), out, 97);
    return host_copy(out, 1)[0] == want;
}

/* Structures: members written one by one, copied whole, with holes between the members. */
struct holes {
    char kind;
    int number;
    char mark;
    double value;
};
__global__ void fill_holes(holes *a) {
    int i = threadIdx.x;
    a[i].kind = (char)i, a[i].number = 2 * i, a[i].mark = (char)(i + 1), a[i].value = 0.5 * i;
}
__global__ void copy_holes(const holes *a, holes *b, int n) {
    holes h = a[n - 1 - threadIdx.x];
    h.number += h.mark;
    b[threadIdx.x] = h;
}
CASE(structures_copied_whole) {
    holes *a = nullptr, *b = nullptr;
    cudaMalloc(&a, 40 * sizeof(holes));
    cudaMalloc(&b, 40 * sizeof(holes));
    fill_holes<<<1, 40>>>(a);
    copy_holes<<<1, 40>>>(a, b, 40);
    std::vector<holes> got = host_copy(b, 40);
    bool good = true;
    for (int i = 0; i < 40; i++)
        good &= got[i].kind == 39 - i && got[i].number == 2 * (39 - i) + 40 - i &&
                got[i].value == 0.5 * (39 - i);
    return good;
}

__global__ void image(const int *in, int *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int sum = in[y * width + x];
    if (x > 0) sum += in[y * width + x - 1];
    if (y > 0) sum += in[(y - 1) * width + x];
    out[y * width + x] = sum;
}
CASE(blocks_in_two_dimensions) {
    const int w = 35, h = 13;
    std::vector<int> in = some<int>(w * h);
    int *out = device_filled<int>(w * h, 0);
    image<<<dim3(3, 2), dim3(16, 8)>>>(device_copy(in), out, w, h);
    std::vector<int> got = host_copy(out, w * h);
    bool good = true;
    for (int i = 0; i < w * h; i++)
        good &= got[i] == in[i] + (i % w ? in[i - 1] : 0) + (i >= w ? in[i - w] : 0);
    return good;
}

__global__ void volume(int *out, int3 n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
        z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < n.x && y < n.y && z < n.z) out[(z * n.y + y) * n.x + x] = x + 100 * y + 10000 * z;
}
CASE(blocks_in_three_dimensions) {
    int *out = device_filled<int>(5 * 6 * 7, 0);
    volume<<<dim3(2, 3, 2), dim3(4, 2, 4)>>>(out, make_int3(5, 6, 7));
    std::vector<int> got = host_copy(out, 5 * 6 * 7);
    bool good = true;
    for (int i = 0; i < 5 * 6 * 7; i++)
        good &= got[i] == i % 5 + 100 * (i / 5 % 6) + 10000 * (i / 30);
    return good;
}

__device__ int device_total, device_table[64];
__device__ unsigned char device_bytes[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
__constant__ int weights[8];
__global__ void use_globals(const int *in) {
    int t = threadIdx.x;
    device_table[t] = in[t] * weights[t % 8] + device_bytes[t % 10];
    atomicAdd(&device_total, device_table[t]);
    if (t < 10) device_bytes[t]++;
}
CASE(device_variables_and_constants) {
    std::vector<int> in = some<int>(64);
    int w[8] = {1, 2, 3, 4, 5, 6, 7, 8}, sum = 0, got = 0, table[64];
    unsigned char bytes[10];
    cudaMemcpyToSymbol(weights, w, sizeof w);
    use_globals<<<1, 10>>>(device_copy(in));
    cudaMemcpyFromSymbol(&got, device_total, sizeof got);
    cudaMemcpyFromSymbol(table, device_table, sizeof table);
    cudaMemcpyFromSymbol(bytes, device_bytes, sizeof bytes);
    for (int i = 0; i < 10; i++) sum += in[i] * w[i % 8] + i % 10 + 1;
    return got == sum && table[9] == in[9] * 2 + 10 && table[10] == 0 && bytes[9] == 11;
}

__device__ int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__global__ void grow(int *out) {
    int local[16];
    for (int i = 0; i < 16; i++) local[i] = fibonacci(i % 12);
    out[threadIdx.x] = local[threadIdx.x % 16];
}
CASE(recursion_and_local_arrays) {
    int *out = device_filled<int>(20, 0);
    grow<<<1, 20>>>(out);
    std::vector<int> got = host_copy(out, 20);
    return got[10] == 55 && got[11] == 89 && got[12] == 0 && got[19] == 2;
}

/* All threads read the same words; none writes them. */
__global__ void moving_average(const double *in, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 1 && i < n - 1) out[i] = (in[i - 1] + in[i] + in[i + 1] + in[0]) / 4;
}
CASE(overlapping_reads) {
    std::vector<double> in = some<double>(130);
    double *out = device_filled<double>(130, 0);
    moving_average<<<5, 32>>>(device_copy(in), out, 130);
    std::vector<double> got = host_copy(out, 130);
    bool good = got[0] == 0 && got[129] == 0;
    for (int i = 1; i < 129; i++) good &= got[i] == (in[i - 1] + in[i] + in[i + 1] + in[0]) / 4;
    return good;
}

/* A list in device memory, followed by pointers that kernels stored there. */
struct node {
    node *next;
    int value;
};
__global__ void tie(node *list, int n) {
    int i = threadIdx.x;
    list[i].next = i + 1 < n ? &list[i + 1] : nullptr;
    list[i].value = i;
}
__global__ void walk(const node *list, int *sum) {
    int s = 0;
    for (const node *p = list; p; p = p->next) s += p->value;
    *sum = s;
}
CASE(pointers_in_device_memory) {
    node *list = nullptr;
    int *sum = device_filled<int>(1, 0);
    cudaMalloc(&list, 30 * sizeof(node));
    tie<<<1, 30>>>(list, 30);
    walk<<<1, 1>>>(list, sum);
    return host_copy(sum, 1)[0] == 435;
}

/* Rows apart by a pitch, and a part of an allocation that is never written or read. */
__global__ void pitched(char *base, size_t pitch, int width, int height) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x < width && y < height) ((float *)(base + y * pitch))[x] += x + y;
}
CASE(rows_with_a_pitch) {
    const int w = 21, h = 4;
    char *base = nullptr;
    size_t pitch = 128;
    std::vector<float> in(w * h, 1.0f), got(w * h);
    cudaMalloc(&base, pitch * h);
    cudaMemcpy2D(base, pitch, in.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice);
    pitched<<<h, 32>>>(base, pitch, w, h);
    cudaMemcpy2D(got.data(), w * 4, base, pitch, w * 4, h, cudaMemcpyDeviceToHost);
    bool good = true;
    for (int i = 0; i < w * h; i++) good &= got[i] == 1 + i % w + i / w;
    return good;
}
