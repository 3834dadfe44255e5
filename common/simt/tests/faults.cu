/* faults.cu: kernels with one planted fault each.
 *
 * A line that ends in "//! KIND" is where check mode must find it, and nowhere else; `//! KIND?`
 * may come besides, and so may a race's other end. test_corpora.py runs all of them in one process
 * and compares. Blocks run in order there, so a fault shows although the result is often right.
 */
#include "tap.cuh"
#include <cooperative_groups.h>
#include <cuda_bf16.h>

namespace cg = cooperative_groups;

/* clang-format off: a fault and its mark share a line */

/* ---- shared memory, no barrier ---- */
__global__ void reverse_no_barrier(float *x) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    x[t] = s[63 - t]; //! shared-race
    //! uninitialised? above
}
__global__ void tile_no_second_barrier(const float *a, float *out) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 4; k++) {
        tile[t] = a[k * 64 + t]; //! shared-race
        __syncthreads();
        for (int i = 0; i < 64; i++) sum += tile[i];
    }
    out[t] = sum;
}
__global__ void reduction_no_barrier(const float *x, float *out) {
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int k = 64; k > 0; k >>= 1)
        if (t < k)
            s[t] += s[t + k]; //! shared-race
                              //! warp-race? above
    __syncthreads();
    if (t == 0) *out = s[0];
}
__global__ void wrong_buffer(const float *x, float *out) {
    __shared__ float s[2][64];
    int t = threadIdx.x;
    s[0][t] = x[t];
    __syncthreads();
    float v = 0;
    for (int i = 0; i < 4; i++) {
        v += s[i % 2][63 - t];
        s[i % 2][t] = v; //! shared-race
        s[(i + 1) % 2][t] = v;
        __syncthreads();
    }
    out[t] = v;
}
__global__ void all_write_one(float *out) {
    __shared__ float s;
    s = (float)threadIdx.x; //! shared-race
    __syncthreads();
    out[threadIdx.x] = s;
}
__global__ void shared_histogram(const int *x, int *out) {
    __shared__ int bins[8];
    int t = threadIdx.x;
    if (t < 8) bins[t] = 0;
    __syncthreads();
    bins[x[t] % 8]++; //! shared-race
    __syncthreads();
    if (t < 8) out[t] = bins[t];
}
__global__ void counter_reset_unseen(int *out) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    atomicAdd(&count, 1); //! shared-race
    __syncthreads();
    out[threadIdx.x] = count;
}
__global__ void atomic_then_plain(int *out) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    atomicAdd(&count, 1); //! shared-race
    out[threadIdx.x] = count;
}
__global__ void halo_no_barrier(const float *x, float *out) {
    __shared__ float s[66];
    int t = threadIdx.x;
    s[t + 1] = x[t + 1];
    if (t == 0) s[0] = x[0];
    if (t == 63) s[65] = x[65];
    out[t] = s[t] + s[t + 2]; //! shared-race
    //! uninitialised? above
}
__global__ void flag_no_barrier(const int *x, int *out) {
    __shared__ int flag;
    if (threadIdx.x == 63) flag = x[0];
    if (threadIdx.x < 63) out[threadIdx.x] = 1;
    __syncthreads();
    if (threadIdx.x == 0) flag = 2;
    out[threadIdx.x] = flag; //! shared-race
}
__global__ void warp_sums_no_barrier(const float *x, float *out) {
    __shared__ float sums[4];
    int t = threadIdx.x;
    float v = x[t];
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (t % 32 == 0) sums[t / 32] = v; //! shared-race
    if (t == 0) *out = sums[0] + sums[1] + sums[2] + sums[3];
    //! uninitialised? above
}
__global__ void dynamic_overlap(const float *x, float *out) {
    extern __shared__ float pool[];
    float *a = pool, *b = pool + 32; /* a has 64 */
    int t = threadIdx.x;
    a[t] = x[t]; //! shared-race
    b[t] = x[t] + 1;
    __syncthreads();
    out[t] = a[t] + b[t];
}
__global__ void vector_store_no_barrier(const float4 *x, float *out) {
    __shared__ __align__(16) float s[256];
    int t = threadIdx.x;
    ((float4 *)s)[t] = x[t];
    out[t] = s[(t * 4 + 128) % 256]; //! shared-race
    //! uninitialised? above
}
__global__ void scan_one_buffer(const int *x, int *out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        int v = t >= d ? s[t - d] : 0; //! shared-race
        s[t] += v;
        __syncthreads();
    }
    out[t] = s[t];
}
__global__ void overlapping_bytes(unsigned char *out) {
    __shared__ __align__(4) unsigned char s[132];
    int t = threadIdx.x;
    *(unsigned short *)(s + 2 * (t / 2)) = (unsigned short)t; //! shared-race
    __syncthreads();
    out[t] = s[t];
}

/* ---- global memory ---- */
__global__ void histogram(const int *x, int *bins) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bins[x[i] % 16]++; //! global-race
}
__global__ void neighbour_no_barrier(float *x, float *out) {
    int t = threadIdx.x;
    x[t] = (float)t;
    out[t] = x[(t + 32) % 64]; //! global-race
}
__global__ void other_blocks_output(float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float before = i >= 32 ? x[i - 32] : 0; //! global-race
    x[i] = before + 1;
}
__global__ void all_blocks_one_cell(float *out) {
    if (threadIdx.x == 0) out[0] = (float)blockIdx.x; //! global-race
}
__global__ void sum_without_atomic(const float *x, float *out) {
    float v = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (threadIdx.x == 0) *out += v; //! global-race
}
__global__ void last_block_no_fence(float *part, unsigned *count, float *out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        part[blockIdx.x] = 1;
        last = atomicAdd(count, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) atomicAdd(out, part[threadIdx.x]); //! global-race
}
__global__ void last_block_no_atomic(float *part, unsigned *count, float *out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        part[blockIdx.x] = 1;
        __threadfence();
        last = ++*count == gridDim.x; //! global-race
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) atomicAdd(out, part[threadIdx.x]); //! global-race
}
__global__ void fence_of_another_thread(float *part, unsigned *count, float *out) {
    __shared__ bool last;
    part[blockIdx.x * 32 + threadIdx.x] = 1;
    if (threadIdx.x == 0) { /* the others' writes aren't covered: no barrier before the fence */
        __threadfence();
        last = atomicAdd(count, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) atomicAdd(out, part[threadIdx.x]); //! global-race
}
__global__ void transpose_in_place(float *x) {
    int r = blockIdx.x, c = threadIdx.x;
    float v = x[r * 32 + c]; //! global-race
    x[c * 32 + r] = v;       //! global-race
}
__global__ void shift_in_place(float *x) {
    int t = threadIdx.x;
    if (t < 63) x[t] = x[t + 1]; //! global-race
    //! warp-race? above
}
__global__ void atomic_and_plain(int *x) {
    if (blockIdx.x == 0)
        atomicAdd(x, 1);
    else
        x[0] = 5; //! global-race
}
__device__ int total;
__global__ void device_counter(int *out) {
    total++; //! global-race
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
__global__ void overlapping_tiles(float *out) {
    int i = blockIdx.x * 31 + threadIdx.x; /* 32 threads a block */
    out[i] = 1;                            //! global-race
}
__global__ void pair_over_half(__nv_bfloat16 *x) {
    int t = threadIdx.x;
    if (t < 32)
        x[2 * t + 1] = __float2bfloat16(1.0f);
    else
        *(__nv_bfloat162 *)(x + 2 * (t - 32)) = __floats2bfloat162_rn(1, 2); //! global-race
}
__global__ void reader_without_acquire(float *data, int *flag, float *out) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = 1;
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicExch(flag, 1);
        }
    } else {
        out[threadIdx.x] = data[threadIdx.x]; //! global-race
    }
}
__global__ void acquire_of_another_flag(float *data, int *flag, float *out) {
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) {
            data[0] = 1;
            __threadfence();
            atomicExch(flag, 1);
        }
    } else if (threadIdx.x == 0) {
        int seen = atomicAdd(flag + 17, 0);
        out[1] = data[0] + (float)seen; //! global-race
    }
}

/* ---- lanes of a warp ---- */
__global__ void warp_reduce_volatile(const float *x, float *out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncwarp();
    if (t < 16) {
        volatile float *v = s;
        v[t] += v[t + 16];       //! warp-race?
        v[t] += v[(t + 8) % 16]; //! warp-race
    }
    __syncwarp();
    if (t == 0) *out = s[0];
}
__global__ void lanes_no_sync(float *out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = 1;
    __syncwarp();
    s[t] = (float)t;
    out[t] = s[31 - t]; //! warp-race
}
__global__ void half_mask(float *out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = (float)t; //! warp-race
    if (t < 16)
        __syncwarp(0xffffu);
    else
        __syncwarp(0xffff0000u);
    out[t] = s[t ^ 16];
    //! uninitialised? above
}
__global__ void global_between_lanes(float *x, float *out) {
    int t = threadIdx.x;
    x[t] = (float)t;
    float mine = 2;
    out[t] = mine + x[t ^ 1]; //! warp-race
}
__global__ void warp_scan_one_sync(const int *x, int *out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncwarp();
    for (int d = 1; d < 32; d *= 2) {
        int v = t >= d ? s[t - d] : 0;
        s[t] += v; //! warp-race
        __syncwarp();
    }
    out[t] = s[t];
}
__global__ void shuffle_is_no_fence(float *out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = (float)t;
    float v = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
    out[t] = v + s[t ^ 1]; //! warp-race
}

/* ---- out of bounds ---- */
__global__ void read_past(const float *x, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i]; //! out-of-bounds
}
__global__ void write_past(float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = 1; //! out-of-bounds
}
__global__ void before_start(const float *x, float *out) {
    int i = threadIdx.x;
    out[i] = x[i - 1]; //! out-of-bounds
}
__global__ void off_by_one(float *x, int n) {
    int i = threadIdx.x;
    if (i <= n) x[i] = 1; //! out-of-bounds
}
__global__ void vector_past(const float4 *x, float4 *out) {
    int i = threadIdx.x;
    out[i] = x[i]; //! out-of-bounds
}
__global__ void shared_past(float *out) {
    __shared__ float first[32], second[32];
    int t = threadIdx.x;
    first[t] = 1;
    second[t] = 2;
    __syncthreads();
    out[t] = first[t] + second[t + 1]; //! out-of-bounds
}
__global__ void dynamic_past(float *out) {
    extern __shared__ float pool[];
    int t = threadIdx.x;
    pool[t] = 1; //! out-of-bounds
    out[t % 32] = pool[t];
}
__global__ void dynamic_of_nothing(float *out) {
    extern __shared__ int pool[];
    pool[threadIdx.x] = 1; //! out-of-bounds
    out[threadIdx.x] = (float)pool[threadIdx.x];
}
__device__ float table[16];
__global__ void device_array_past(float *out) {
    int t = threadIdx.x;
    out[t] = table[t]; //! out-of-bounds
}
__global__ void null_pointer(const float *x, float *out) {
    out[threadIdx.x] = x[threadIdx.x]; //! out-of-bounds
}
struct particle {
    float x, y, z;
};
__global__ void structure_past(particle *p, int n) {
    int i = threadIdx.x;
    p[i].x = 1; //! out-of-bounds
    if (i < n) p[i].y = 1;
}
__global__ void odd_bytes(unsigned char *x) {
    x[threadIdx.x] = 1; //! out-of-bounds
}
__global__ void atomic_past(int *bins) {
    atomicAdd(&bins[threadIdx.x], 1); //! out-of-bounds
}
__global__ void row_past(float *out) {
    __shared__ float s[4][8];
    int t = threadIdx.x;
    s[t / 8][t % 8] = 1;
    __syncthreads();
    out[t] = s[t / 8 + 1][t % 8]; //! out-of-bounds
}
__constant__ float fixed[8];
__global__ void writes_constant(float *out) {
    float *p = const_cast<float *>(fixed);
    p[threadIdx.x] = 1; //! out-of-bounds
    out[threadIdx.x] = fixed[threadIdx.x];
}
__global__ void anothers_local(float **where, float *out) {
    float mine[4] = {1, 2, 3, 4};
    int t = threadIdx.x;
    mine[t % 4] = out[t];
    where[t] = mine;
    __syncthreads();
    out[t] = where[(t + 1) % 32][1]; //! out-of-bounds
}
__global__ void far_index(float *x, size_t n) {
    x[n * 1000003u] = 1; //! out-of-bounds
}

/* ---- freed and unwritten memory ---- */
__global__ void reads_freed(const float *x, float *out) {
    out[threadIdx.x] = x[threadIdx.x]; //! use-after-free
}
__global__ void writes_freed(float *x) {
    x[threadIdx.x] = 1; //! use-after-free
}
__global__ void atomic_freed(int *x) {
    atomicAdd(x, 1); //! use-after-free
}
__global__ void reads_unwritten(const float *x, float *out) {
    out[threadIdx.x] = x[threadIdx.x]; //! uninitialised
}
__global__ void half_copied(const float *x, float *out) {
    out[threadIdx.x] = x[threadIdx.x]; //! uninitialised
}
__global__ void accumulates_unset(float *sums, const float *x) {
    sums[threadIdx.x] += x[threadIdx.x]; //! uninitialised
}
__global__ void shared_unset(float *out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t < 32) s[t] = 1;
    __syncthreads();
    out[t] = s[t]; //! uninitialised
}
__global__ void shared_sum_unset(const float *x, float *out) {
    __shared__ float sum;
    int t = threadIdx.x;
    atomicAdd(&sum, x[t]); //! uninitialised
    __syncthreads();
    if (t == 0) *out = sum;
}
__global__ void padding_column(const float *x, float *out) {
    __shared__ float s[8][9];
    int t = threadIdx.x;
    s[t / 8][t % 8] = x[t];
    __syncthreads();
    out[t] = s[t / 8][t % 8 + 1]; //! uninitialised
}
__global__ void last_blocks_values(float *out) { /* shared memory doesn't outlive a block */
    __shared__ float s[32];
    if (blockIdx.x == 0) s[threadIdx.x] = 1;
    __syncthreads();
    out[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x]; //! uninitialised
}

/* ---- pointers to the host ---- */
__global__ void host_array(const float *x, float *out) {
    out[threadIdx.x] = x[threadIdx.x]; //! host-pointer
}
__global__ void host_result(float *out) {
    *out = 1; //! host-pointer
}
static float host_variable[4] = {1, 2, 3, 4};
__global__ void host_global(float *out, const float *x) {
    out[threadIdx.x] = x[threadIdx.x]; //! host-pointer
}
struct view {
    const float *data;
    int n;
};
__global__ void host_in_structure(view v, float *out) {
    if ((int)threadIdx.x < v.n) out[threadIdx.x] = v.data[threadIdx.x]; //! host-pointer
}
__global__ void structure_on_host(const view *v, float *out) {
    out[threadIdx.x] = v->data[threadIdx.x]; //! host-pointer
}

/* ---- barriers ---- */
__global__ void barrier_in_branch(float *out) {
    int t = threadIdx.x;
    if (t < 32) {
        out[t] = 1;
        __syncthreads(); //! barrier-divergence
    }
}
__global__ void early_return(float *x, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t >= n) return;
    s[t] = x[t];
    __syncthreads(); //! barrier-divergence
    x[t] = s[n - 1 - t];
}
__global__ void two_barriers(float *out) {
    int t = threadIdx.x;
    if (t % 64 < 40) {
        out[t] = 1;
        __syncthreads();
    } else {
        out[t] = 2;
        __syncthreads(); //! barrier-divergence
    }
}
__global__ void uneven_loop(float *out) {
    int t = threadIdx.x;
    float v = 0;
    for (int i = 0; i < 1 + t / 32; i++) {
        v += 1;
        __syncthreads(); //! barrier-divergence
    }
    out[t] = v;
}
__global__ void group_in_branch(float *out) {
    cg::thread_block block = cg::this_thread_block();
    if (threadIdx.x > 5) {
        out[threadIdx.x] = 1;
        block.sync(); //! barrier-divergence
    }
}
__global__ void vote_in_branch(int *out) {
    int t = threadIdx.x;
    if (t != 3) out[t] = __syncthreads_or(t == 5); //! barrier-divergence
}

/* ---- masks ---- */
__global__ void shuffle_in_branch(float *x) {
    float v = x[threadIdx.x];
    if (threadIdx.x < 16) v += __shfl_xor_sync(0xffffffffu, v, 1); //! warp-mask
    x[threadIdx.x] = v;
}
__global__ void mask_without_me(unsigned *out) {
    out[threadIdx.x] = __ballot_sync(0xfffffffeu, 1); //! warp-mask
}
__global__ void different_operations(int *out) {
    int t = threadIdx.x, v;
    if (t < 16)
        v = __any_sync(0xffffffffu, t == 3);
    else
        v = __all_sync(0xffffffffu, t > 3); //! warp-mask
    out[t] = v;
}
__global__ void shuffle_after_return(float *x, int n) {
    int t = threadIdx.x;
    if (t >= n) return;
    float v = x[t];
    v += __shfl_down_sync(0xffffffffu, v, 16); //! warp-mask
    x[t] = v;
}
__global__ void sync_in_branch(float *out) {
    int t = threadIdx.x;
    if (t > 7) {
        out[t] = 1;
    } else {
        out[t] = 2;
        __syncwarp(); //! warp-mask
    }
}
__global__ void lane_that_is_not(unsigned *out) {
    out[threadIdx.x] = __ballot_sync(0x1ffffu, threadIdx.x & 1); //! warp-mask
}
__global__ void width_of_twelve(int *out, int width) {
    int t = threadIdx.x;
    out[t] = __shfl_sync(0xffffffffu, t, 0, width); //! warp-mask
}
__global__ void width_of_a_block(int *out) {
    int t = threadIdx.x;
    out[t] = __shfl_down_sync(0xffffffffu, t, 1, 64); //! warp-mask
}
__global__ void width_of_none(int *out) {
    int t = threadIdx.x;
    out[t] = __shfl_xor_sync(0xffffffffu, t, 1, 0); //! warp-mask
}
__global__ void reduce_in_branch(int *out) {
    int t = threadIdx.x, v = 0;
    if (t & 1) v = __reduce_add_sync(0xffffffffu, t); //! warp-mask
    out[t] = v;
}

/* ---- launches ---- */
__global__ void plain(float *x) {
    x[0] = 1;
}
__global__ void many_threads(float *x) {
    x[0] = 1;
}
__global__ void no_blocks(float *x) {
    x[0] = 1;
}
__global__ void deep_block(float *x) {
    x[0] = 1;
}
__global__ void much_shared(float *x) {
    x[0] = 1;
}
__global__ void __launch_bounds__(128) bounded(float *x) {
    x[0] = 1;
}
__global__ void tall_grid(float *x) {
    x[0] = 1;
}
__global__ void big_static(float *x) {
    __shared__ float s[70000];
    s[threadIdx.x] = 1;
    x[threadIdx.x] = s[threadIdx.x];
}

static float *f, *g;
static int *n;

static void next_case() { /* a kernel that died leaves the device unusable */
    cudaDeviceReset();
    cudaMalloc(&f, 4096 * sizeof *f);
    cudaMalloc(&g, 4096 * sizeof *g);
    cudaMalloc(&n, 4096 * sizeof *n);
    cudaMemset(f, 0, 4096 * sizeof *f);
    cudaMemset(g, 0, 4096 * sizeof *g);
    cudaMemset(n, 0, 4096 * sizeof *n);
}
#define RUN(...)                                                                                   \
    next_case();                                                                                   \
    __VA_ARGS__
template <class T> static T *small(size_t count) {
    T *p;
    cudaMalloc(&p, count * sizeof(T));
    cudaMemset(p, 0, count * sizeof(T));
    return p;
}
template <class T> static T *freed(size_t count) {
    T *p = small<T>(count);
    cudaFree(p);
    return p;
}
template <class T> static T *unwritten(size_t count, size_t written) {
    T *p;
    cudaMalloc(&p, count * sizeof(T));
    cudaMemset(p, 0, written * sizeof(T));
    return p;
}

static void races() {
    RUN(reverse_no_barrier<<<1, 64>>>(f));
    RUN(tile_no_second_barrier<<<1, 64>>>(f, g));
    RUN(reduction_no_barrier<<<1, 128>>>(f, g));
    RUN(wrong_buffer<<<1, 64>>>(f, g));
    RUN(all_write_one<<<1, 64>>>(g));
    RUN(shared_histogram<<<1, 64>>>(n, n + 64));
    RUN(counter_reset_unseen<<<1, 64>>>(n));
    RUN(atomic_then_plain<<<1, 64>>>(n));
    RUN(halo_no_barrier<<<1, 64>>>(f, g));
    RUN(flag_no_barrier<<<1, 64>>>(n, n + 64));
    RUN(warp_sums_no_barrier<<<1, 128>>>(f, g));
    RUN(dynamic_overlap<<<1, 64, 128 * 4>>>(f, g));
    RUN(vector_store_no_barrier<<<1, 64>>>((float4 *)f, g));
    RUN(scan_one_buffer<<<1, 64>>>(n, n + 64));
    RUN(overlapping_bytes<<<1, 64>>>((unsigned char *)g));
    RUN(histogram<<<4, 64>>>(n, n + 1024));
    RUN(neighbour_no_barrier<<<1, 64>>>(f, g));
    RUN(other_blocks_output<<<4, 32>>>(f));
    RUN(all_blocks_one_cell<<<4, 32>>>(f));
    RUN(sum_without_atomic<<<4, 32>>>(f, g));
    RUN(last_block_no_fence<<<8, 32>>>(f, (unsigned *)n, g));
    RUN(last_block_no_atomic<<<8, 32>>>(f, (unsigned *)n, g));
    RUN(fence_of_another_thread<<<8, 32>>>(f, (unsigned *)n, g));
    RUN(transpose_in_place<<<32, 32>>>(f));
    RUN(shift_in_place<<<1, 64>>>(f));
    RUN(atomic_and_plain<<<2, 1>>>(n));
    RUN(device_counter<<<2, 32>>>(n));
    RUN(overlapping_tiles<<<4, 32>>>(f));
    RUN(pair_over_half<<<1, 64>>>((__nv_bfloat16 *)f));
    RUN(reader_without_acquire<<<2, 32>>>(f, n, g));
    RUN(acquire_of_another_flag<<<2, 32>>>(f, n, g));
    RUN(warp_reduce_volatile<<<1, 32>>>(f, g));
    RUN(lanes_no_sync<<<1, 32>>>(g));
    RUN(half_mask<<<1, 32>>>(g));
    RUN(global_between_lanes<<<1, 32>>>(f, g));
    RUN(warp_scan_one_sync<<<1, 32>>>(n, n + 32));
    RUN(shuffle_is_no_fence<<<1, 32>>>(g));
}

static void bad_accesses() {
    RUN(read_past<<<2, 64>>>(small<float>(100), g));
    RUN(write_past<<<2, 64>>>(small<float>(100)));
    RUN(before_start<<<1, 32>>>(small<float>(100), g));
    RUN(off_by_one<<<1, 128>>>(small<float>(100), 100));
    RUN(vector_past<<<1, 32>>>((float4 *)small<float>(102), (float4 *)g));
    RUN(shared_past<<<1, 32>>>(g));
    RUN(dynamic_past<<<1, 64, 32 * 4>>>(g));
    RUN(dynamic_of_nothing<<<1, 32>>>(g));
    RUN(device_array_past<<<1, 32>>>(g));
    RUN(null_pointer<<<1, 32>>>(nullptr, g));
    RUN(structure_past<<<1, 32>>>(small<particle>(20), 20));
    RUN(odd_bytes<<<1, 32>>>(small<unsigned char>(13)));
    RUN(atomic_past<<<1, 32>>>(small<int>(16)));
    RUN(row_past<<<1, 32>>>(g));
    RUN(writes_constant<<<1, 8>>>(g));
    RUN(anothers_local<<<1, 32>>>((float **)f, g));
    RUN(far_index<<<1, 1>>>(f, 1000));
    RUN(reads_freed<<<1, 32>>>(freed<float>(64), g));
    RUN(writes_freed<<<1, 32>>>(freed<float>(64)));
    RUN(atomic_freed<<<1, 32>>>(freed<int>(64)));
    RUN(reads_unwritten<<<1, 32>>>(unwritten<float>(64, 0), g));
    RUN(half_copied<<<1, 32>>>(unwritten<float>(64, 16), g));
    RUN(accumulates_unset<<<1, 32>>>(unwritten<float>(64, 0), f));
    RUN(shared_unset<<<1, 64>>>(g));
    RUN(shared_sum_unset<<<1, 64>>>(f, g));
    RUN(padding_column<<<1, 64>>>(f, g));
    RUN(last_blocks_values<<<2, 32>>>(g));
    float here[32] = {0};
    float *heap = (float *)calloc(32, sizeof *heap);
    RUN(host_array<<<1, 32>>>(heap, g));
    RUN(host_result<<<1, 1>>>(here));
    RUN(host_global<<<1, 4>>>(g, host_variable));
    view v = {heap, 32};
    RUN(host_in_structure<<<1, 32>>>(v, g));
    RUN(structure_on_host<<<1, 32>>>(&v, g));
    free(heap);
}

static void synchronisation() {
    RUN(barrier_in_branch<<<1, 64>>>(g));
    RUN(early_return<<<1, 64>>>(f, 50));
    RUN(two_barriers<<<1, 64>>>(g));
    RUN(uneven_loop<<<1, 64>>>(g));
    RUN(group_in_branch<<<1, 64>>>(g));
    RUN(vote_in_branch<<<1, 64>>>(n));
    RUN(shuffle_in_branch<<<1, 32>>>(f));
    RUN(mask_without_me<<<1, 32>>>((unsigned *)n));
    RUN(different_operations<<<1, 32>>>(n));
    RUN(shuffle_after_return<<<1, 32>>>(f, 20));
    RUN(sync_in_branch<<<1, 32>>>(f));
    RUN(lane_that_is_not<<<1, 16>>>((unsigned *)n));
    RUN(width_of_twelve<<<1, 32>>>(n, 12));
    RUN(width_of_a_block<<<1, 64>>>(n));
    RUN(width_of_none<<<1, 32>>>(n));
    RUN(reduce_in_branch<<<1, 32>>>(n));
}

static void launches() {
    next_case();
    plain<<<1, 1>>>(f);
    many_threads<<<1, 1025>>>(f);         //! illegal-launch
    no_blocks<<<0, 32>>>(f);              //! illegal-launch
    deep_block<<<1, dim3(1, 1, 65)>>>(f); //! illegal-launch
    much_shared<<<1, 32, 49153>>>(f);     //! illegal-launch
    bounded<<<1, 256>>>(f);               //! illegal-launch
    tall_grid<<<dim3(1, 70000), 1>>>(f);  //! illegal-launch
    big_static<<<1, 32>>>(f);             //! illegal-launch
}

int main() {
    races();
    bad_accesses();
    synchronisation();
    launches();
    return 0;
}
