/* correct.cu: kernels without a fault, some of them near one. Check mode must report nothing; each
 * result is checked too. The same file compiles with nvcc.
 */
#include "tap.cuh"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cub/cub.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

namespace cg = cooperative_groups;

/* ---- one thread a value ---- */
__global__ void copy(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
__global__ void grid_stride(const float *x, float *y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = x[i];
}
__global__ void copy_vectors(const float4 *x, float4 *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
__global__ void copy_bytes(const unsigned char *x, unsigned char *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
__global__ void interleaved_halves(const float *x, __nv_bfloat16 *y) { /* neighbours in a word */
    int t = threadIdx.x;
    y[t] = __float2bfloat16(x[t]);
}
__global__ void in_place(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * 2 + 1;
}
__global__ void optional_input(const float *x, const float *bias, float *y) {
    y[threadIdx.x] = x[threadIdx.x] + (bias ? bias[threadIdx.x] : 0);
}
__global__ void local_array(const float *x, float *y) {
    float v[8];
    int t = threadIdx.x;
    for (int i = 0; i < 8; i++) v[(i + t) % 8] = x[i];
    float s = 0;
    for (int i = 0; i < 8; i++) s += v[i] * (float)i;
    y[t] = s;
}

/* ---- shared memory ---- */
__global__ void reverse(float *x) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    x[t] = s[63 - t];
}
__global__ void tiles(const float *a, float *out) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 4; k++) {
        tile[t] = a[k * 64 + t];
        __syncthreads();
        for (int i = 0; i < 64; i++) sum += tile[i];
        __syncthreads();
    }
    out[t] = sum;
}
__global__ void double_buffer(const float *a, float *out) {
    __shared__ float tile[2][64];
    int t = threadIdx.x;
    float sum = 0;
    tile[0][t] = a[t];
    __syncthreads();
    for (int k = 0; k < 4; k++) {
        if (k < 3) tile[(k + 1) % 2][t] = a[(k + 1) * 64 + t];
        for (int i = 0; i < 64; i++) sum += tile[k % 2][i];
        __syncthreads();
    }
    out[t] = sum;
}
__global__ void reduction(const float *x, float *out, int n) {
    __shared__ float s[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int k = 64; k > 0; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) atomicAdd(out, s[0]);
}
__global__ void scan_two_buffers(const int *x, int *out) {
    __shared__ int s[2][64];
    int t = threadIdx.x, from = 0;
    s[0][t] = x[t];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2, from ^= 1) {
        s[from ^ 1][t] = s[from][t] + (t >= d ? s[from][t - d] : 0);
        __syncthreads();
    }
    out[t] = s[from][t];
}
__global__ void byte_neighbours(unsigned char *out) {
    __shared__ unsigned char s[64];
    int t = threadIdx.x;
    s[t] = (unsigned char)t;
    __syncthreads();
    out[t] = s[63 - t];
}
__global__ void byte_neighbours_alive(unsigned char *out) { /* each its own byte, no barrier */
    __shared__ unsigned char s[64];
    int t = threadIdx.x;
    s[t] = (unsigned char)t;
    s[t] = (unsigned char)(s[t] + 1);
    out[t] = s[t];
}
__global__ void shared_histogram(const int *x, int *out, int n) {
    __shared__ int bins[8];
    int t = threadIdx.x;
    if (t < 8) bins[t] = 0;
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) atomicAdd(&bins[x[i] & 7], 1);
    __syncthreads();
    if (t < 8) atomicAdd(&out[t], bins[t]);
}
__global__ void dynamic_two_arrays(const float *x, int *order, float *out) {
    extern __shared__ __align__(16) unsigned char pool[];
    float *a = (float *)pool;
    int *b = (int *)(a + 64);
    int t = threadIdx.x;
    a[t] = x[t], b[t] = 63 - t;
    __syncthreads();
    out[t] = a[b[t]], order[t] = b[t];
}
__global__ void transpose_padded(const float *x, float *y) {
    __shared__ float s[32][33];
    int c = threadIdx.x, r = threadIdx.y;
    for (int i = r; i < 32; i += 8) s[i][c] = x[i * 32 + c];
    __syncthreads();
    for (int i = r; i < 32; i += 8) y[i * 32 + c] = s[c][i];
}
__global__ void broadcast(const float *x, float *y) {
    __shared__ float first;
    if (threadIdx.x == 0) first = x[0];
    __syncthreads();
    y[threadIdx.x] = first;
}
__global__ void several_flags(int *out) {
    __shared__ int flag[3];
    int t = threadIdx.x;
    if (t == 0) flag[0] = 1, flag[1] = 0;
    __syncthreads();
    if (t == 33) flag[1] = flag[0] + 1;
    if (t == 40) flag[2] = 5;
    __syncthreads();
    out[t] = flag[0] + flag[1] + flag[2];
}
__global__ void barrier_in_uniform_branch(float *x, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    if (n > 10) { /* the same for all */
        s[t] = x[t];
        __syncthreads();
        x[t] = s[t ^ 1];
    }
}
__global__ void uniform_loop(float *x, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    for (int i = 0; i < n; i++) {
        s[t] = x[t];
        __syncthreads();
        x[t] = s[(t + 1) % 64];
        __syncthreads();
    }
}
__global__ void guard_without_return(float *x, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t < n) s[t] = x[t];
    __syncthreads();
    if (t < n) x[t] = s[n - 1 - t];
}
__global__ void votes(int *out) {
    int t = threadIdx.x;
    int c = __syncthreads_count(t < 10), a = __syncthreads_and(1), o = __syncthreads_or(t == 63);
    out[t] = c + a + o;
}

/* ---- warps ---- */
__global__ void warp_sum(const float *x, float *out) {
    float v = x[threadIdx.x];
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (threadIdx.x == 0) *out = v;
}
__global__ void block_sum(const float *x, float *out) {
    __shared__ float sums[32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    float v = x[t];
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (lane == 0) sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = lane < blockDim.x / 32 ? sums[lane] : 0;
        for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
        if (lane == 0) *out = v;
    }
}
__global__ void eight_lanes(const float *x, float *out) {
    int t = threadIdx.x;
    if (t < 8) {
        float v = x[t];
        for (int d = 4; d; d /= 2) v += __shfl_down_sync(0xffu, v, d);
        if (t == 0) *out = v;
    }
}
__global__ void warp_synchronous(const float *x, float *out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncwarp();
    for (int d = 16; d; d /= 2) {
        float v = t < d ? s[t + d] : 0;
        __syncwarp();
        s[t] += v;
        __syncwarp();
    }
    if (t == 0) *out = s[0];
}
__global__ void warp_volatile_synced(const float *x, float *out) {
    __shared__ volatile float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    s[t + 32] = x[t + 32];
    __syncwarp();
    for (int d = 32; d; d /= 2) {
        float v = s[t] + (t < d ? s[t + d] : 0);
        __syncwarp();
        s[t] = v;
        __syncwarp();
    }
    if (t == 0) *out = s[0];
}
__global__ void half_warps(float *out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    unsigned mask = t < 16 ? 0xffffu : 0xffff0000u;
    s[t] = (float)t;
    __syncwarp(mask);
    float v = s[t ^ 5]; /* within the half */
    __syncwarp(mask);
    s[t] = v;
    __syncwarp(mask);
    out[t] = s[t ^ 5];
}
__global__ void tile_groups(float *out) {
    __shared__ float s[64];
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int t = threadIdx.x;
    s[t] = (float)t;
    tile.sync();
    float v = s[t / 8 * 8 + (t + 1) % 8];
    tile.sync();
    s[t] = v + cg::reduce(tile, 1.0f, cg::plus<float>());
    tile.sync();
    out[t] = s[t ^ 1];
}
__global__ void last_warp_short(const float *x, float *out) { /* 48 threads */
    float v = x[threadIdx.x];
    unsigned odd = __ballot_sync(0xffffffffu, threadIdx.x & 1);
    __syncwarp();
    out[threadIdx.x] = v + (float)__popc(odd);
}
__global__ void vote_after_return(int *out,
                                  int n) { /* CUDA counts the lanes that haven't returned */
    int t = threadIdx.x;
    if (t >= n) return;
    out[t] = __popc(__ballot_sync(0xffffffffu, 1));
}
__global__ void match_groups(const int *x, int *out) {
    int t = threadIdx.x, v = x[t];
    unsigned same = __match_any_sync(0xffffffffu, v);
    int leader = __ffs(same) - 1;
    if (t == leader) atomicAdd(&out[v], __popc(same));
}
__global__ void tensor_tile(const __half *a, const __half *b, float *c) {
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

/* ---- blocks together ---- */
__global__ void last_block(const float *x, float *part, unsigned *count, float *out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        part[blockIdx.x] = x[blockIdx.x];
        __threadfence();
        last = atomicAdd(count, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float s = 0;
        for (unsigned i = 0; i < gridDim.x; i++) s += part[i];
        *out = s;
    }
}
__global__ void last_block_all_write(const float *x, float *part, unsigned *count, float *out) {
    __shared__ bool last;
    int t = threadIdx.x;
    part[blockIdx.x * 32 + t] = x[t];
    __threadfence(); /* each for its own, then all meet */
    __syncthreads();
    if (t == 0) last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (last) {
        float s = 0;
        for (unsigned i = 0; i < gridDim.x; i++) s += part[i * 32 + t];
        out[t] = s;
    }
}
__global__ void last_block_barrier_first(const float *x, float *part, unsigned *count, float *out) {
    __shared__ bool last;
    int t = threadIdx.x;
    part[blockIdx.x * 32 + t] = x[t];
    __syncthreads(); /* all have written before one fences for them */
    if (t == 0) {
        __threadfence();
        last = atomicAdd(count, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last) {
        float s = 0;
        for (unsigned i = 0; i < gridDim.x; i++) s += part[i * 32 + t];
        out[t] = s;
    }
}
__global__ void look_back(const int *x, volatile int *sums, volatile int *ready, int *out) {
    int b = blockIdx.x; /* a chain: each block waits for the one before */
    if (threadIdx.x != 0) return;
    int before = 0;
    if (b > 0) {
        while (ready[b - 1] == 0) continue;
        __threadfence();
        before = sums[b - 1];
    }
    sums[b] = before + x[b];
    __threadfence();
    ready[b] = 1;
    out[b] = before + x[b];
}
__global__ void global_histogram(const int *x, int *bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[x[i] & 15], 1);
}
__global__ void atomic_maximum(const int *x, int *out) {
    atomicMax(out, x[blockIdx.x * blockDim.x + threadIdx.x]);
}
__global__ void ticket_append(const int *x, int *out,
                              int *count) { /* order is free, slots aren't */
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] & 1) out[atomicAdd(count, 1)] = x[i];
}
__global__ void spin_lock(int *lock, volatile int *value) {
    if (threadIdx.x != 0) return;
    while (atomicCAS(lock, 0, 1) != 0) continue;
    __threadfence();
    *value = *value + 1;
    __threadfence();
    atomicExch(lock, 0);
}
__device__ int launches_seen;
__device__ float weights[4] = {1, 2, 3, 4};
__constant__ float bias[4];
__global__ void device_variables(float *out) {
    int t = threadIdx.x;
    out[t] = weights[t] + bias[t];
    if (t == 0) launches_seen = launches_seen + 1;
}
__global__ void second_launch(const float *part, float *out) { /* launches are in order */
    float s = 0;
    for (int i = 0; i < 8; i++) s += part[i];
    out[threadIdx.x] = s;
}
__global__ void prefetch(const float *x, float *y) {
    __shared__ __align__(16) float s[128];
    int t = threadIdx.x;
    s[4 * t] = x[4 * t], s[4 * t + 1] = x[4 * t + 1];
    s[4 * t + 2] = x[4 * t + 2], s[4 * t + 3] = x[4 * t + 3];
    __syncthreads();
    float4 v = *(const float4 *)&s[124 - 4 * t];
    y[t] = v.x + v.y + v.z + v.w;
}
__device__ __noinline__ float helper(const float *s, int t) {
    return s[t] + s[t + 1];
}
__global__ void through_a_function(const float *x, float *y) {
    __shared__ float s[65];
    int t = threadIdx.x;
    s[t] = x[t];
    if (t == 0) s[64] = 0;
    __syncthreads();
    y[t] = helper(s, t);
}

static float *f, *g;
static int *n;
static std::vector<float> input;
static std::vector<int> numbers;

static void fresh() {
    cudaMemcpy(f, input.data(), input.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(n, numbers.data(), numbers.size() * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemset(g, 0, 8192 * sizeof *g);
}
static float at(const float *p, int i = 0) {
    return host_copy(p, i + 1)[i];
}
static int at(const int *p, int i = 0) {
    return host_copy(p, i + 1)[i];
}
#define CHECK(name, launch, condition)                                                             \
    do {                                                                                           \
        fresh();                                                                                   \
        launch;                                                                                    \
        cudaError_t e_ = cudaDeviceSynchronize();                                                  \
        TAP(e_ == cudaSuccess && (condition), name);                                               \
    } while (0)

static void alone() {
    CHECK("copy", (copy<<<5, 256>>>(f, g, 1100)), at(g, 1099) == input[1099]);
    CHECK("grid_stride", (grid_stride<<<3, 64>>>(f, g, 1001)), at(g, 1000) == input[1000]);
    CHECK("copy_vectors", (copy_vectors<<<1, 128>>>((float4 *)f, (float4 *)g, 100)),
          at(g, 399) == input[399]);
    CHECK("copy_bytes", (copy_bytes<<<2, 64>>>((unsigned char *)n, (unsigned char *)g, 101)),
          at((int *)g) == numbers[0]);
    CHECK("interleaved_halves", (interleaved_halves<<<1, 64>>>(f, (__nv_bfloat16 *)g)),
          host_copy((unsigned short *)g, 64)[1] == 0x3f80);
    CHECK("in_place", (in_place<<<2, 64>>>(f, 100)), at(f, 99) == 2 * input[99] + 1);
    CHECK("optional_input", (optional_input<<<1, 32>>>(f, nullptr, g)), at(g, 3) == input[3]);
    CHECK("local_array", (local_array<<<1, 32>>>(f, g)), at(g) == 140);
}
static void in_blocks() {
    CHECK("reverse", (reverse<<<1, 64>>>(f)), at(f) == input[63]);
    CHECK("tiles", (tiles<<<1, 64>>>(f, g)), at(g) == 255 * 128);
    CHECK("double_buffer", (double_buffer<<<1, 64>>>(f, g)), at(g, 63) == 255 * 128);
    CHECK("reduction", (reduction<<<3, 128>>>(f, g, 300)), at(g) == 299 * 150);
    CHECK("scan_two_buffers", (scan_two_buffers<<<1, 64>>>(n, (int *)g)),
          at((int *)g, 2) == numbers[0] + numbers[1] + numbers[2]);
    CHECK("byte_neighbours", (byte_neighbours<<<1, 64>>>((unsigned char *)g)),
          host_copy((unsigned char *)g, 64)[0] == 63);
    CHECK("byte_neighbours_alive", (byte_neighbours_alive<<<1, 64>>>((unsigned char *)g)),
          host_copy((unsigned char *)g, 64)[5] == 6);
    CHECK("shared_histogram", (shared_histogram<<<2, 64>>>(n, (int *)g, 200)), at((int *)g, 3) > 0);
    CHECK("dynamic_two_arrays", (dynamic_two_arrays<<<1, 64, 512>>>(f, n, g)),
          at(g, 1) == input[62]);
    CHECK("transpose_padded", (transpose_padded<<<1, dim3(32, 8)>>>(f, g)), at(g, 1) == input[32]);
    CHECK("broadcast", (broadcast<<<1, 64>>>(f + 5, g)), at(g, 63) == input[5]);
    CHECK("several_flags", (several_flags<<<1, 64>>>(n)), at(n, 9) == 8);
    CHECK("barrier_in_uniform_branch", (barrier_in_uniform_branch<<<1, 64>>>(f, 20)),
          at(f) == input[1]);
    CHECK("uniform_loop", (uniform_loop<<<1, 64>>>(f, 3)), at(f) == input[3]);
    CHECK("guard_without_return", (guard_without_return<<<1, 64>>>(f, 50)), at(f) == input[49]);
    CHECK("votes", (votes<<<1, 64>>>(n)), at(n) == 12);
    CHECK("prefetch", (prefetch<<<1, 32>>>(f, g)), at(g) == 124 + 125 + 126 + 127);
    CHECK("through_a_function", (through_a_function<<<1, 64>>>(f, g)), at(g, 63) == 63);
}
/* A softmax's two sums with CUB, and each value's place among those before it. */
__global__ void block_primitives(const float *x, float *y) {
    typedef cub::BlockReduce<float, 96> Reduce;
    typedef cub::BlockScan<float, 96> Scan;
    __shared__ typename Reduce::TempStorage reduce;
    __shared__ typename Scan::TempStorage scan;
    __shared__ float total;
    float v = x[threadIdx.x], before;
    float sum = Reduce(reduce).Sum(v);
    if (threadIdx.x == 0) total = sum;
    Scan(scan).ExclusiveSum(v, before);
    __syncthreads();
    y[threadIdx.x] = total - before;
}

static void in_warps() {
    CHECK("warp_sum", (warp_sum<<<1, 32>>>(f, g)), at(g) == 496);
    CHECK("block_sum", (block_sum<<<1, 128>>>(f, g)), at(g) == 127 * 64);
    CHECK("block_primitives", (block_primitives<<<1, 96>>>(f, g)), at(g, 95) == 95);
    CHECK("eight_lanes", (eight_lanes<<<1, 32>>>(f, g)), at(g) == 28);
    CHECK("warp_synchronous", (warp_synchronous<<<1, 32>>>(f, g)), at(g) == 496);
    CHECK("warp_volatile_synced", (warp_volatile_synced<<<1, 32>>>(f, g)), at(g) == 63 * 32);
    CHECK("half_warps", (half_warps<<<1, 32>>>(g)), at(g, 20) == 20);
    CHECK("tile_groups", (tile_groups<<<1, 64>>>(g)), at(g, 1) == 9);
    CHECK("last_warp_short", (last_warp_short<<<1, 48>>>(f, g)), at(g, 47) == 47 + 8);
    CHECK("vote_after_return", (vote_after_return<<<1, 32>>>(n, 20)), at(n) == 20);
    CHECK("match_groups", (match_groups<<<1, 32>>>(n, (int *)g)), at((int *)g, numbers[0]) > 0);
    CHECK("tensor_tile", (tensor_tile<<<1, 32>>>((__half *)g, (__half *)g + 256, g + 1024)),
          at(g, 1024) == 0);
}
static void together() {
    unsigned *count = (unsigned *)(g + 4096);
    CHECK("last_block", (last_block<<<8, 32>>>(f, g, count, g + 100)), at(g, 100) == 28);
    CHECK("last_block_all_write", (last_block_all_write<<<8, 32>>>(f, g, count, g + 1000)),
          at(g, 1003) == 24);
    CHECK("last_block_barrier_first", (last_block_barrier_first<<<8, 32>>>(f, g, count, g + 1000)),
          at(g, 1003) == 24);
    CHECK("look_back", (look_back<<<8, 32>>>(n, (int *)g, (int *)g + 64, (int *)g + 128)),
          at((int *)g, 129) == numbers[0] + numbers[1]);
    CHECK("global_histogram", (global_histogram<<<4, 64>>>(n, (int *)g, 200)), at((int *)g, 3) > 0);
    CHECK("atomic_maximum", (atomic_maximum<<<4, 64>>>(n, (int *)g)), at((int *)g) == 15);
    CHECK("ticket_append", (ticket_append<<<4, 64>>>(n, (int *)g, (int *)count)),
          at((int *)count) > 0);
    CHECK("spin_lock", (spin_lock<<<8, 32>>>((int *)g, (int *)g + 9)), at((int *)g, 9) == 8);
    float b[4] = {10, 20, 30, 40};
    cudaMemcpyToSymbol(bias, b, sizeof b);
    CHECK("device_variables", (device_variables<<<1, 4>>>(g)), at(g, 3) == 44);
    CHECK("second_launch", (copy<<<1, 32>>>(f, g, 8), second_launch<<<1, 32>>>(g, g + 64)),
          at(g, 64) == 28);
}

int main() {
    for (int i = 0; i < 8192; i++) input.push_back((float)i), numbers.push_back(i * 7 % 16);
    cudaMalloc(&f, 8192 * sizeof *f);
    cudaMalloc(&g, 8192 * sizeof *g);
    cudaMalloc(&n, 8192 * sizeof *n);
    alone();
    in_blocks();
    in_warps();
    together();
    printf("1..%d\n", tap_count);
    return tap_failed != 0;
}
