/* syntax.cu: the forms in which people write kernels, launches and device variables; TAP. nvcc
 * takes the same file. */
#include "tap.cuh"

constexpr int WIDE = 64, PAD = 1;
struct pair_t {
    float a, b;
    __host__ __device__ pair_t() : a(0), b(0) {}
    __host__ __device__ pair_t(float x, float y) : a(x), b(y) {}
    __device__ float sum() const {
        return a + b;
    }
    static __device__ int two();
};
__device__ int pair_t::two() {
    return 2;
}
struct plain_t {
    float a, b;
};
template <typename T> struct tile {
    typedef T element;
    static constexpr int rows = 4;
};
__device__ __forceinline__ auto doubled(float x) -> float {
    return 2 * x;
}
static __device__ __noinline__ float tripled(float x) {
    return 3 * x;
}
__host__ __device__ inline int both(int x) {
    return x + 1;
}

/* ---- device variables ---- */
namespace {
__device__ int hidden = 3;
}
namespace outer {
namespace inner {
__device__ float deep[2] = {1.5f, 2.5f};
}
} // namespace outer
static __device__ int first = 1, second[2] = {2, 3}, *third;
__device__ const float lookup[4] = {1, 2, 4, 8};
static __constant__ float fixed[2] = {10, 20};
__constant__ pair_t *no_pair;
__device__ volatile int flag;
__device__ int defined_below = 9;
constexpr __device__ int constant_number = 4;
__device__ struct { int x, y; } nameless;

__global__ void variables(float *out) {
    out[0] = (float)(hidden + first + second[1] + (third == nullptr) + defined_below);
    out[1] = outer::inner::deep[1] + lookup[3] + fixed[1] + constant_number;
    out[2] = (float)(no_pair == nullptr) + (float)flag;
    nameless.y = 5;
    out[3] = (float)nameless.y;
}

/* ---- kernels ---- */
__global__ static void after_global(float *x) {
    x[0] = 1;
}
static __global__ void before_global(float *x) {
    x[1] = doubled(tripled(1));
}
extern "C" __global__ void of_c(float *x) {
    x[2] = 3;
}
extern "C" {
__global__ void in_block_of_c(float *x) {
    x[3] = 4;
}
}
__global__ __launch_bounds__(WIDE) void bounds_first(float *x) {
    x[4] = 5;
}
template <int N> __global__ void __launch_bounds__(N, 2) bounds_of_template(float *x) {
    x[5] = (float)N;
}
template <typename T, int N = 2> __global__ void general(T *x, T v) {
    x[0] = v * (T)N;
}
template <> __global__ void general<int, 7>(int *x, int v) {
    x[0] = v + 100;
}
__global__ void by_value(pair_t p, const pair_t *q, float (*rows)[4], float *x) {
    x[6] = p.sum() + q->a + rows[1][2] + (float)pair_t::two();
}
__global__ void prototype_first(float *x, int v);
__global__ void prototype_first(float *x, int v) {
    x[7] = (float)v;
}
template <typename T> __global__ void shared_forms(T *out) {
    typedef typename tile<T>::element element;
    __shared__ typename tile<T>::element a[tile<T>::rows][WIDE / 4 + PAD], b[WIDE], *c;
    __shared__ plain_t pairs[2];
    __shared__ __align__(16) unsigned char bytes[WIDE];
    __shared__ union {
        float f;
        unsigned u;
    } one;
    int t = threadIdx.x;
    a[t / 16][t % 16] = (element)t;
    b[t] = (element)(2 * t);
    bytes[t] = (unsigned char)t;
    if (t == 0) {
        c = b + 1;
        pairs[1].a = 1, pairs[1].b = 2;
        one.f = 1.0f;
    }
    __syncthreads();
    out[t] = a[(t + 1) % WIDE / 16][(t + 1) % 16] + c[t % 8] + (T)pairs[1].b +
             (T)(one.u == 0x3f800000u) + (T)bytes[WIDE - 1 - t];
}
template <typename T> __global__ void dynamic_of(T *out) {
    extern __shared__ __align__(sizeof(double)) unsigned char pool[];
    T *mine = reinterpret_cast<T *>(pool);
    mine[threadIdx.x] = (T)threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = mine[blockDim.x - 1 - threadIdx.x];
}
__global__ void type_before_shared(float *out) {
    extern float __shared__ line[];
    unsigned int __shared__ count;
    const tile<float>::element volatile __shared__ *where;
    if (threadIdx.x == 0) count = 7, where = line;
    __syncthreads();
    line[threadIdx.x] = (float)count;
    __syncthreads();
    out[threadIdx.x] = where[31 - threadIdx.x];
}

/* ---- dynamic shared memory of any type ---- */
struct box {
    int head, body[31];
};
union word {
    float f;
    unsigned u;
};
__global__ void dynamic_struct(int *out) {
    extern __shared__ box b;
    if (threadIdx.x == 0) b.head = 7;
    if (threadIdx.x < 31) b.body[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x < 31) out[threadIdx.x] = b.body[30 - threadIdx.x] + b.head;
}
__global__ void dynamic_scalar(int *out) {
    extern __shared__ int sum;
    if (threadIdx.x == 0) sum = 5;
    __syncthreads();
    atomicAdd(&sum, 1);
    __syncthreads();
    if (threadIdx.x == 0) out[0] = sum;
}
__global__ void dynamic_union(int *out) {
    extern __shared__ union word word_of_block;
    if (threadIdx.x == 0) word_of_block.f = 1.0f;
    __syncthreads();
    out[threadIdx.x] = (int)(word_of_block.u >> 20);
}
__global__ void dynamic_rows(int *out) {
    alignas(16) extern __shared__ int rows_of_8[][8];
    int y = threadIdx.x / 8, x = threadIdx.x % 8;
    rows_of_8[y][x] = 10 * y + x;
    __syncthreads();
    out[threadIdx.x] = rows_of_8[3 - y][x];
}
__global__ void dynamic_sized(int *out) {
    extern __shared__ float of_32[32];
    of_32[threadIdx.x] = (float)threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = (int)of_32[31 - threadIdx.x] + (int)sizeof of_32;
}
__global__ void dynamic_volatile(int *out) {
    extern volatile __shared__ int seen[];
    extern __shared__ const int same[];
    seen[threadIdx.x] = 3 * threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = same[31 - threadIdx.x];
}
__global__ void dynamic_twice(int *out) {
    extern __shared__ box one_box, *boxes[];
    if (threadIdx.x == 0) one_box.head = 9;
    __syncthreads();
    out[threadIdx.x] = one_box.head + (int)((const char *)&one_box - (const char *)boxes);
}
extern __shared__ __align__(16) int outside[];
extern __shared__ box of_file;
namespace outer {
extern __shared__ float own[];
__device__ void fill(int base) {
    own[threadIdx.x] = (float)(base + threadIdx.x);
}
__global__ void use(int *out) {
    fill(100);
    __syncthreads();
    out[threadIdx.x] = (int)own[31 - threadIdx.x];
}
} // namespace outer
__device__ int parameter_of_the_name(int outside) {
    return outside + 1;
}
__device__ int variable_of_the_name(int v) {
    int outside = v;
    return outside + 1;
}
struct reader {
    __device__ int operator()(int i) const {
        return outside[i];
    }
};
__global__ void dynamic_of_file(int *out) {
    outside[threadIdx.x] = 2 * threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = of_file.head + reader()(31 - threadIdx.x) + parameter_of_the_name(1) +
                       variable_of_the_name(1);
}
#ifdef __SIMT__ /* nvcc takes one type for a name, or none of a template's argument */
__global__ void another_type_of_the_name(int *out) {
    extern __shared__ float outside[];
    if (threadIdx.x == 0) outside[0] = 1.5f;
    __syncthreads();
    out[threadIdx.x] = (int)(2 * outside[0]);
}
template <typename T> __global__ void dynamic_of_template(T *out) {
    extern __shared__ __align__(sizeof(T)) T of_template;
    if (threadIdx.x == 0) of_template = (T)3;
    __syncthreads();
    out[threadIdx.x] = of_template;
}
static bool names_of_two_types(int *x) {
    dynamic_of_template<<<1, 32, 4>>>(x);
    dynamic_of_template<<<1, 32, 2>>>((short *)x);
    dynamic_of_template<<<1, 32, 8>>>(device_filled<double>(32, 0));
    std::vector<int> v = host_copy(x, 32);
    another_type_of_the_name<<<1, 32, 4>>>(x);
    return v[0] == 0x30003 && v[31] == 3 && host_copy(x, 6)[5] == 3;
}
#else
static bool names_of_two_types(int *) {
    return true;
}
#endif
static bool dynamic_of_any_type() {
    int *x = device_filled<int>(64, 0);
    auto is = [&](int at, int want) { return host_copy(x, 32)[at] == want; };
    dynamic_struct<<<1, 32, sizeof(box)>>>(x);
    bool good = is(0, 37) && is(30, 7);
    dynamic_scalar<<<1, 32, sizeof(int)>>>(x);
    good &= is(0, 37);
    dynamic_union<<<1, 32, 4>>>(x);
    good &= is(31, 0x3f8);
    dynamic_rows<<<1, 32, 128>>>(x);
    good &= is(9, 21);
    dynamic_sized<<<1, 32, 128>>>(x);
    good &= is(1, 158);
    dynamic_volatile<<<1, 32, 128>>>(x);
    good &= is(1, 90);
    dynamic_twice<<<1, 32, 8>>>(x);
    good &= is(31, 9);
    outer::use<<<1, 32, 128>>>(x);
    good &= is(0, 131);
    dynamic_of_file<<<1, 32, 128>>>(x);
    good &= is(31, 4) && is(0, 66);
    return good && names_of_two_types(x) && cudaGetLastError() == cudaSuccess;
}

__device__ void nested_block(float *out) {
    if (threadIdx.x < WIDE) {
        for (int i = 0; i < 2; i++) {
            __shared__ float s[WIDE];
            s[threadIdx.x] = (float)i;
            __syncthreads();
            out[threadIdx.x] += s[WIDE - 1 - threadIdx.x];
            __syncthreads();
        }
    }
}
__global__ void calls_nested(float *out) {
    nested_block(out);
}
template <typename F> __global__ void applies(float *x, F f) {
    x[threadIdx.x] = f(threadIdx.x);
}
struct square {
    float by;
    __device__ float operator()(int i) const {
        return by * (float)(i * i);
    }
};

/* ---- launches ---- */
__global__ void with_default(int *x, int v = 30, int *more = NULL) {
    x[0] = (int)__umul24(umin(v, 90), 1) + (more == nullptr);
}
template <int N> __global__ void given_with_default(int *x, int v = 4) {
    x[0] = N * v;
}
/* the kernel's launcher bears its name */
__global__ void same_name(int *x, int v) {
    x[0] = v;
}
static void same_name(int *x, int v, int threads) {
    same_name<<<1, threads>>>(x, v);
}
struct owner {
    float *x;
    void launch(int n) const {
        general<float><<<n, 1>>>(x, 2.5f);
    }
};
template <int N> static void launch_of(float *x) {
    if constexpr (N > 8)
        bounds_of_template<(N > 32) ? 64 : 16><<<1, (N < 64 ? 1 : 2)>>>(x);
    else
        bounds_of_template<N><<<1, 1>>>(x);
}

int main() {
    float *x = device_filled<float>(256, 0), h[8];
    int *n = device_filled<int>(4, 0);
    variables<<<1, 1>>>(x);
    std::vector<float> v = host_copy(x, 4);
    TAP(v[0] == 17 && v[1] == 34.5f && v[2] == 1 && v[3] == 5, "device variables in every form");
    cudaMemset(x, 0, 1024);
    after_global<<<1, 1>>>(x), before_global<<<dim3{1, 1, 1}, 1>>>(x);
    if (x != nullptr)
        of_c<<<1, 1>>>(x);
    else
        in_block_of_c<<<1, 1>>>(nullptr);
    [&]() { in_block_of_c<<<1, 1, 0, (cudaStream_t)0>>>(x); }();
    bounds_first<<<(8 >> 3), 1>>>(x);
    launch_of<40>(x);
    prototype_first<<<1, 1>>>(x, 'a' - 'b' + 9);
    cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
    TAP(h[0] == 1 && h[1] == 6 && h[2] == 3 && h[3] == 4 && h[4] == 5 && h[5] == 64 && h[7] == 8,
        "kernels in every form");
    owner{x}.launch(1);
    TAP(host_copy(x, 1)[0] == 5, "a launch in a member function");
    general<int, 7><<<1, 1>>>(n, 1);
    TAP(host_copy(n, 1)[0] == 101, "an explicit specialisation");
    with_default<<<1, 1>>>(n);
    TAP(host_copy(n, 1)[0] == 31, "a launch that leaves out arguments");
    given_with_default<5><<<1, 1>>>(n);
    TAP(host_copy(n, 1)[0] == 20, "also with template arguments");
    same_name(n, 11, 1);
    TAP(host_copy(n, 1)[0] == 11, "a host function of the kernel's name");
    TAP(isfinite(1.0f) && !isnan(1.0), "names of the C library without std::");
    general<<<1, 1>>>(n, 21);
    TAP(host_copy(n, 1)[0] == 42, "deduced template arguments");
    pair_t *q = device_copy(std::vector<pair_t>(1, pair_t(5, 6)));
    float(*rows)[4] = (float(*)[4])device_copy(std::vector<float>(8, 7.0f));
    by_value<<<1, 1>>>(pair_t(1, 2), q, rows, x);
    TAP(host_copy(x, 7)[6] == 17, "structures by value, pointers to arrays");
    shared_forms<float><<<1, WIDE>>>(x);
    TAP(host_copy(x, 2)[1] == 2 + 4 + 2 + 1 + 62, "shared variables in every form");
    dynamic_of<double><<<1, 32, 32 * sizeof(double)>>>((double *)x);
    TAP(host_copy((double *)x, 1)[0] == 31, "dynamic shared memory of any type");
    TAP(dynamic_of_any_type(), "dynamic shared memory: structures, scalars, rows, of the file");
    type_before_shared<<<1, 32, 128>>>(x);
    TAP(host_copy(x, 32)[31] == 7, "a type before __shared__");
    cudaMemset(x, 0, 1024);
    calls_nested<<<1, WIDE>>>(x);
    TAP(host_copy(x, 1)[0] == 1, "shared memory in an inner block of a device function");
    applies<<<1, 8>>>(x, square{2});
    TAP(host_copy(x, 4)[3] == 18 && both(1) == 2, "a function object");
    cudaFuncSetAttribute(dynamic_of<float>, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10);
    dynamic_of<float><<<1, 32, 60 << 10>>>(x);
    TAP(cudaGetLastError() == cudaSuccess, "an attribute of a template's instance");
#ifdef SERVELAB_SIMT
    bool strict = simt_checking();
    TAP(cudaMemcpy(x, q, 8, cudaMemcpyHostToDevice) ==
            (strict ? cudaErrorInvalidMemcpyDirection : cudaSuccess),
        "a device address where the copy says host: found, but refused in check mode");
    cudaGetLastError();
#endif
    int blocks = 0;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounds_first, 64, 0);
    TAP(blocks >= 1, "occupancy");
    printf("1..%d\n", tap_count);
    return tap_failed != 0;
}
