/* features.cu: what simt runs, each checked against plain host code; TAP on stdout. The same file
 * compiles with nvcc. */
#include "tap.cuh"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

namespace cg = cooperative_groups;

__constant__ float coefficient[4];
__device__ int counter = 5;
__device__ float table[3] = {1, 2, 3}, other_table[2];

/* ---- launches ---- */
__global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
namespace deep {
template <class T, int N> __global__ void scale(T *x, T by) {
    for (int i = 0; i < N; i++) x[threadIdx.x * N + i] *= by;
}
} // namespace deep
__global__ void nothing_to_add(const float *optional, float *out) {
    *out = optional ? 1.0f : 2.0f;
}
__global__ void where(int *out) {
    int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    int b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    out[b * blockDim.x * blockDim.y * blockDim.z + t] = b * 1000 + t;
}
#define LAUNCH(k, g, b, ...) k<<<g, b>>>(__VA_ARGS__)

static void launches() {
    std::vector<float> a(1000), b(1000);
    for (int i = 0; i < 1000; i++) a[i] = i, b[i] = 2 * i;
    float *da = device_copy(a), *db = device_copy(b), *dc = device_filled<float>(1000, 0);
    add<<<4, /* a comment >>> */ 256>>>(da, db, dc, 1000);
    TAP(host_copy(dc, 1000)[999] == 2997, "a launch");
    deep::scale<float, 2><<<dim3(1), dim3(500), 0, 0>>>(dc, 2.0f);
    TAP(host_copy(dc, 1000)[999] == 5994, "a template in a namespace");
    LAUNCH(add, 4, 256, da, da, dc, 1000);
    TAP(host_copy(dc, 1000)[7] == 14, "a launch out of a macro");
    nothing_to_add<<<1, 1>>>(0, dc);
    TAP(host_copy(dc, 1)[0] == 2, "0 for a pointer argument");
    void (*which)(const float *, float *) = nothing_to_add;
    which<<<1, 1>>>(da, dc);
    TAP(host_copy(dc, 1)[0] == 1, "a kernel through a pointer");
    int n = 1000;
    const float *ca = da;
    void *args[] = {&ca, &db, &dc, &n};
    cudaError_t e = cudaLaunchKernel((const void *)add, dim3(4), dim3(256), args, 0, 0);
    TAP(e == cudaSuccess && host_copy(dc, 1000)[10] == 30, "cudaLaunchKernel");
    int *di = device_filled<int>(6 * 24, 0);
    where<<<dim3(1, 2, 3), dim3(2, 3, 4)>>>(di);
    std::vector<int> h = host_copy(di, 6 * 24);
    int good = 1;
    for (int i = 0; i < 6 * 24; i++) good &= h[i] == i / 24 * 1000 + i % 24;
    TAP(good, "three-dimensional indices");
}

/* ---- shared memory and barriers ---- */
struct pair_of {
    float value;
    int index;
};
template <int N> __global__ void largest(const float *x, pair_of *out, int n) {
    __shared__ pair_of best[N];
    __shared__ volatile int used, unused_neighbour;
    int t = threadIdx.x;
    if (t == 0) used = 0, unused_neighbour = 1;
    pair_of mine = {-INFINITY, -1};
    for (int i = t; i < n; i += N)
        if (x[i] > mine.value) mine.value = x[i], mine.index = i;
    best[t] = mine;
    __syncthreads();
    for (int half = N / 2; half > 0; half /= 2) {
        if (t < half && best[t + half].value > best[t].value) best[t] = best[t + half];
        __syncthreads();
    }
    if (t == 0) *out = best[0];
}
__global__ void reverse(float *x, int n) {
    extern __shared__ __align__(16) float tile[];
    int *seen = (int *)&tile[n];
    int t = threadIdx.x;
    tile[t] = x[t];
    seen[t] = t;
    __syncthreads();
    x[t] = tile[seen[n - 1 - t]];
}
__global__ void votes(int *out) {
    int t = threadIdx.x;
    int count = __syncthreads_count(t % 3 == 0), all = __syncthreads_and(t < 100),
        any = __syncthreads_or(t == 99);
    if (t == 0) out[0] = count, out[1] = all, out[2] = any;
}
static void shared_memory() {
    std::vector<float> x(5000);
    for (int i = 0; i < 5000; i++) x[i] = (float)(i * 7919 % 5003);
    int want = 0;
    for (int i = 0; i < 5000; i++)
        if (x[i] > x[want]) want = i;
    float *dx = device_copy(x);
    pair_of *out = device_filled<pair_of>(1, 0);
    largest<256><<<1, 256>>>(dx, out, 5000);
    TAP(host_copy(out, 1)[0].index == want, "a reduction in shared memory");
    reverse<<<1, 100, 100 * (sizeof(float) + sizeof(int))>>>(dx, 100);
    std::vector<float> r = host_copy(dx, 100);
    int good = 1;
    for (int i = 0; i < 100; i++) good &= r[i] == x[99 - i];
    TAP(good, "dynamic shared memory");
    int *v = device_filled<int>(3, 0);
    votes<<<1, 100>>>(v);
    std::vector<int> h = host_copy(v, 3);
    TAP(h[0] == 34 && h[1] == 1 && h[2] == 1, "barriers that count");
}

/* ---- warps ---- */
__global__ void shuffles(int *out) {
    int t = threadIdx.x, *o = out + t * 8;
    o[0] = __shfl_sync(0xffffffffu, t * 10, 5);
    o[1] = __shfl_up_sync(0xffffffffu, t, 2);
    o[2] = __shfl_down_sync(0xffffffffu, t, 3, 8);
    o[3] = __shfl_xor_sync(0xffffffffu, t, 16);
    o[4] = (int)__ballot_sync(0xffffffffu, t % 2);
    o[5] = __popc(__match_any_sync(0xffffffffu, t / 4));
    int same;
    o[6] = (int)__match_all_sync(0xffffffffu, t / 32, &same);
    o[7] = __any_sync(0xffffffffu, t == 3) + 2 * __all_sync(0xffffffffu, t < 31) + 4 * same;
}
__global__ void partial(float *out) {
    int t = threadIdx.x;
    double v = t + 0.5;
    if (t < 8)
        for (int d = 4; d; d /= 2) v += __shfl_down_sync(0xffu, v, d);
    else
        v = -1;
    __syncwarp();
    out[t] = (float)v;
}
__global__ void reduces(int *out) {
    int t = threadIdx.x;
    int sum = __reduce_add_sync(0xffffffffu, t), low = __reduce_min_sync(0xffffffffu, t - 5);
    unsigned high = __reduce_max_sync(0xffffffffu, (unsigned)t);
    if (t == 0) out[0] = sum, out[1] = low, out[2] = (int)high;
}
__global__ void groups(float *out) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
    float v = cg::reduce(tile, (float)threadIdx.x, cg::plus<float>());
    block.sync();
    out[threadIdx.x] = v + 1000 * tile.meta_group_rank();
    tile.sync();
}
static void warps() {
    int *out = device_filled<int>(32 * 8, 0);
    shuffles<<<1, 32>>>(out);
    std::vector<int> h = host_copy(out, 32 * 8);
    int good = 1;
    for (int t = 0; t < 32; t++) {
        int *o = &h[t * 8];
        good &= o[0] == 50 && o[1] == (t < 2 ? t : t - 2) && o[3] == (t ^ 16);
        good &= o[2] == (t % 8 + 3 < 8 ? t + 3 : t) && o[4] == (int)0xaaaaaaaau && o[5] == 4;
        good &= o[6] == -1 && o[7] == 5;
    }
    TAP(good, "shuffles, votes, matches");
    float *f = device_filled<float>(64, 0);
    partial<<<1, 32>>>(f);
    std::vector<float> p = host_copy(f, 32);
    TAP(p[0] == 32 && p[8] == -1, "a shuffle of a partial mask, 8 bytes a lane");
    reduces<<<1, 32>>>(out);
    h = host_copy(out, 3);
    TAP(h[0] == 496 && h[1] == -5 && h[2] == 31, "warp reductions");
    groups<<<1, 64>>>(f);
    p = host_copy(f, 64);
    TAP(p[0] == 120 && p[17] == 376 + 1000 && p[63] == 888 + 3000, "cooperative groups");
}

/* ---- atomics, globals, constants ---- */
__global__ void atomics(int *i, float *f, unsigned *u, double *d) {
    int t = threadIdx.x + blockIdx.x * blockDim.x;
    atomicAdd(&i[0], 1);
    atomicSub(&i[1], 2);
    atomicMax(&i[2], t);
    atomicMin(&i[3], -t);
    atomicOr(&u[0], 1u << t % 32);
    atomicXor(&u[1], 1u);
    atomicAnd(&u[2], ~(1u << t % 16));
    atomicInc(&u[3], 6);
    atomicAdd(f, 0.5f);
    atomicAdd(d, 0.25);
    if (t == 7) atomicCAS(&i[4], 0, 42), atomicExch(&i[5], 43);
    atomicAdd(&counter, 1);
}
__global__ void globals(float *out) {
    out[threadIdx.x] = coefficient[threadIdx.x] + table[1] + other_table[0];
    if (threadIdx.x == 0) other_table[1] = 9;
}
static void memories() {
    int *i = device_filled<int>(8, 0);
    float *f = device_filled<float>(8, 0);
    unsigned *u = device_filled<unsigned>(4, 0);
    double *d = device_filled<double>(1, 0);
    cudaMemset(u + 2, 255, 4);
    atomics<<<10, 64>>>(i, f, u, d);
    std::vector<int> h = host_copy(i, 8);
    std::vector<unsigned> w = host_copy(u, 4);
    TAP(h[0] == 640 && h[1] == -1280 && h[2] == 639 && h[3] == -639 && h[4] == 42 && h[5] == 43,
        "integer atomics");
    TAP(w[0] == ~0u && w[1] == 0 && w[2] == 0xffff0000u && w[3] == 640 % 7, "bitwise atomics");
    TAP(host_copy(f, 1)[0] == 320 && host_copy(d, 1)[0] == 160, "floating-point atomics");
    int seen = 0;
    cudaMemcpyFromSymbol(&seen, counter, sizeof seen);
    TAP(seen == 645, "a __device__ variable counts, with its initial value");
    float c[4] = {0.5f, 1, 2, 3}, hundred = 100, two[2];
    cudaMemcpyToSymbol(coefficient, c, sizeof c);
    cudaMemcpyToSymbol(other_table, &hundred, sizeof hundred);
    globals<<<1, 4>>>(f);
    cudaMemcpyFromSymbol(two, other_table, sizeof two);
    TAP(host_copy(f, 4)[3] == 105 && two[1] == 9, "constants and device arrays");
    void *address;
    size_t bytes;
    TAP(cudaGetSymbolAddress(&address, table) == cudaSuccess &&
            cudaGetSymbolSize(&bytes, table) == cudaSuccess && bytes == 12,
        "a symbol's address and size");
}

/* ---- narrow numbers ---- */
__global__ void narrow(const float *x, __half *h, __nv_bfloat16 *b, float *out, int n) {
    int t = threadIdx.x;
    if (t >= n) return;
    h[t] = __float2half(x[t]);
    b[t] = __float2bfloat16(x[t]);
    __half2 h2 = __halves2half2(h[t], __float2half(1.0f));
    __nv_bfloat162 b2 = __floats2bfloat162_rn(x[t], 2.0f);
    float2 f = __half22float2(__hadd2(h2, h2)), g = __bfloat1622float2(b2);
    out[4 * t] = f.x, out[4 * t + 1] = f.y, out[4 * t + 2] = g.x, out[4 * t + 3] = g.y;
}
/* 0: equal bits for equal floats after a round trip; counted over all 65536 patterns */
__global__ void round_trips(int *wrong) {
    unsigned u = blockIdx.x * blockDim.x + threadIdx.x;
    __half h = __ushort_as_half((unsigned short)u);
    __nv_bfloat16 b = __ushort_as_bfloat16((unsigned short)u);
    float f = __half2float(h), g = __bfloat162float(b);
    if (f == f && __half_as_ushort(__float2half(f)) != u) atomicAdd(wrong, 1);
    if (g == g && __bfloat16_as_ushort(__float2bfloat16(g)) != u) atomicAdd(wrong + 1, 1);
}
static void narrow_numbers() {
    std::vector<float> x = {1.0f,          1.0009765625f * 0.9999f,
                            65504.0f,      65520.0f,
                            5.9604645e-8f, 2.9802322e-8f,
                            1e-9f,         -3.14159f,
                            6.1e-5f,       0.333333f};
    unsigned half_want[] = {0x3c00, 0x3c01, 0x7bff, 0x7c00, 0x0001,
                            0x0000, 0x0000, 0xc248, 0x03ff, 0x3555};
    int n = (int)x.size();
    float *dx = device_copy(x), *out = device_filled<float>(4 * n, 0);
    __half *h = device_filled<__half>(n, 0);
    __nv_bfloat16 *b = device_filled<__nv_bfloat16>(n, 0);
    narrow<<<1, 32>>>(dx, h, b, out, n);
    std::vector<unsigned short> hb(n), bb(n);
    cudaMemcpy(hb.data(), h, 2 * n, cudaMemcpyDeviceToHost);
    cudaMemcpy(bb.data(), b, 2 * n, cudaMemcpyDeviceToHost);
    int good = 1;
    for (int i = 0; i < n; i++) {
        good &= hb[i] == half_want[i];
        if (hb[i] != half_want[i]) printf("# %g: %04x, want %04x\n", x[i], hb[i], half_want[i]);
    }
    TAP(good, "half: rounding, subnormals, overflow");
    TAP(bb[0] == 0x3f80 && bb[7] == 0xc049 && bb[9] == 0x3eab, "bf16: rounding");
    std::vector<float> f = host_copy(out, 4 * n);
    TAP(f[0] == 2 && f[1] == 2 && f[2] == 1 && f[3] == 2, "pairs");
    int *wrong = device_filled<int>(2, 0);
    round_trips<<<256, 256>>>(wrong);
    TAP(host_copy(wrong, 2)[0] == 0 && host_copy(wrong, 2)[1] == 0,
        "all 65536 patterns of half and bf16 survive float");
}

/* ---- wmma ---- */
template <class T, class LA, class LB>
__global__ void tensor(const T *a, const T *b, float *c, int k) {
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, T, LA> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, T, LB> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(fa, a + i, k);
        wmma::load_matrix_sync(fb, b + i * 16, 16);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
    wmma::store_matrix_sync(c + 256, fc, 16, wmma::mem_col_major);
}
static void tensors() {
    using namespace nvcuda;
    const int k = 48;
    std::vector<__half> a(16 * k), b(k * 16);
    for (int i = 0; i < 16 * k; i++) {
        a[i] = __float2half((float)(i * 7 % 13 - 6));
        b[i] = __float2half((float)(i * 5 % 11 - 5));
    }
    __half *da = device_copy(a), *db = device_copy(b);
    float *dc = device_filled<float>(512, 0);
    tensor<__half, wmma::row_major, wmma::row_major><<<1, 32>>>(da, db, dc, k);
    std::vector<float> c = host_copy(dc, 512);
    int good = 1, other = 1;
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            float want = 0;
            for (int p = 0; p < k; p++)
                want += __half2float(a[i * k + p]) * __half2float(b[p * 16 + j]);
            good &= c[i * 16 + j] == want, other &= c[256 + j * 16 + i] == want;
        }
    TAP(good && other, "wmma, row by row, stored both ways");
    tensor<__half, wmma::row_major, wmma::col_major><<<1, 32>>>(da, db, dc, k);
    c = host_copy(dc, 256);
    good = 1;
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            float want = 0; /* column j of slab p / 16 lies at 256 (p / 16) + 16 j */
            for (int p = 0; p < k; p++)
                want +=
                    __half2float(a[i * k + p]) * __half2float(b[p / 16 * 256 + j * 16 + p % 16]);
            good &= c[i * 16 + j] == want;
        }
    TAP(good, "wmma with B by columns");
}

/* ---- vectors and mathematics ---- */
__global__ void vectors(const float4 *x, float4 *y, uchar4 *bytes, double2 *d) {
    float4 v = x[threadIdx.x];
    y[threadIdx.x] = make_float4(v.w, v.z, v.y, v.x);
    bytes[threadIdx.x] = make_uchar4(1, 2, 3, (unsigned char)threadIdx.x);
    d[threadIdx.x] = make_double2(v.x, v.y);
}
__global__ void bits(unsigned *o) {
    o[0] = __popc(0xf0f0u), o[1] = __clz(1), o[2] = __ffs(8), o[3] = __brev(1u);
    o[4] = __byte_perm(0x33221100u, 0x77665544u, 0x7610);
    o[5] = (unsigned)__dp4a(0x01020304, 0x01010101, 5);
    o[6] = __umulhi(0x80000000u, 6), o[7] = (unsigned)__float2int_rn(2.5f);
    o[8] = __float_as_uint(rsqrtf(4.0f)), o[9] = __float_as_uint(__saturatef(3.0f));
    o[10] = __funnelshift_l(0x80000000u, 1u, 1), o[11] = (unsigned)max(3, min(9, 7));
}
static void numbers() {
    std::vector<float> x(128);
    for (int i = 0; i < 128; i++) x[i] = i;
    float *dx = device_copy(x), *dy = device_filled<float>(128, 0);
    uchar4 *bytes = device_filled<uchar4>(32, 0);
    double2 *d = device_filled<double2>(32, 0);
    vectors<<<1, 32>>>((const float4 *)dx, (float4 *)dy, bytes, d);
    TAP(host_copy(dy, 128)[4] == 7 && host_copy(bytes, 32)[9].w == 9 && host_copy(d, 32)[3].y == 13,
        "vector types");
    unsigned *o = device_filled<unsigned>(12, 0);
    bits<<<1, 1>>>(o);
    std::vector<unsigned> h = host_copy(o, 12);
    const unsigned want[] = {8, 31, 4,           0x80000000u, 0x77661100u, 15,
                             3, 2,  0x3f000000u, 0x3f800000u, 3,           7};
    TAP(memcmp(h.data(), want, sizeof want) == 0, "bits and conversions");
}

/* ---- the host's interface ---- */
__global__ void __launch_bounds__(64) bounded(int *x) {
    x[threadIdx.x] = 1;
}
__global__ void big(float *x) {
    extern __shared__ float s[];
    s[threadIdx.x] = 1;
    x[threadIdx.x] = s[threadIdx.x];
}
static void host_interface() {
    int *x = device_filled<int>(4096, 0);
    float *f = (float *)x;
    bounded<<<1, 2048>>>(x);
    TAP(cudaGetLastError() == cudaErrorInvalidConfiguration, "2048 threads a block are refused");
    bounded<<<0, 32>>>(x);
    TAP(cudaGetLastError() == cudaErrorInvalidConfiguration, "an empty grid is refused");
    big<<<1, 32, 100 << 10>>>(f);
    TAP(cudaGetLastError() == cudaErrorInvalidValue, "100 KiB of shared memory are refused");
    cudaFuncSetAttribute(big, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10);
    big<<<1, 32, 100 << 10>>>(f);
    TAP(cudaGetLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess,
        "and allowed when asked for");
    float h[4];
    TAP(cudaMemcpy(h, h, 4, cudaMemcpyHostToDevice) != cudaSuccess &&
            cudaGetLastError() != cudaSuccess && cudaGetLastError() == cudaSuccess,
        "a wrong direction is an error, once");
    TAP(cudaMemcpy(h, f + 4095, 16, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue,
        "a copy over an allocation's end is refused");
    cudaGetLastError();
    cudaStream_t s;
    cudaEvent_t a, b;
    float ms = -1;
    cudaStreamCreate(&s);
    cudaEventCreate(&a);
    cudaEventCreate(&b);
    cudaEventRecord(a, s);
    bounded<<<1, 64, 0, s>>>(x);
    cudaEventRecord(b, s);
    cudaEventSynchronize(b);
    TAP(cudaEventElapsedTime(&ms, a, b) == cudaSuccess && ms >= 0 && ms < 5000, "events");
    cudaStreamDestroy(s);
    TAP(cudaFree(x) == cudaSuccess && cudaFree(x) == cudaErrorInvalidValue, "a double free");
    cudaGetLastError();
    int *before = device_filled<int>(64, 1), *large = device_filled<int>(1 << 18, 2);
    int *behind = device_filled<int>(1024, 3);
    cudaFree(large);
    std::vector<int> kept = host_copy(before, 64), left = host_copy(behind, 1024);
    bool same = true;
    for (int v : kept) same &= v == 0x01010101;
    for (int v : left) same &= v == 0x03030303;
    TAP(same, "what lies beside freed memory stays");
    std::vector<int> mine(64, 5);
    int *seen = nullptr, blocks = 0, threads = 0, least = -1, greatest = -1;
    TAP(cudaHostRegister(mine.data(), 256, cudaHostRegisterMapped) == cudaSuccess &&
            cudaHostGetDevicePointer((void **)&seen, mine.data(), 0) == cudaSuccess,
        "host memory of malloc, registered");
    bounded<<<1, 64>>>(seen);
    cudaDeviceSynchronize();
    TAP(mine[63] == 1 && cudaHostUnregister(mine.data()) == cudaSuccess &&
            cudaHostUnregister(mine.data()) == cudaErrorInvalidValue,
        "and used by a kernel, and given back once");
    cudaGetLastError();
    TAP(cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, big, 0, 0) == cudaSuccess &&
            threads >= 32 && blocks >= 1 &&
            cudaDeviceGetStreamPriorityRange(&least, &greatest) == cudaSuccess,
        "a launch's best size; priorities");
}

int main() {
    launches();
    shared_memory();
    warps();
    memories();
    narrow_numbers();
    tensors();
    numbers();
    host_interface();
    printf("1..%d\n", tap_count);
    return tap_failed != 0;
}
