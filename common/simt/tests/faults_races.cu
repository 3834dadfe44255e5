/* faults_races.cu: kernels with one planted race each, in shared and global memory and between
 * lanes. See faults.cuh. */
#include "faults.cuh"
#include <cub/cub.cuh>
#include <cuda_bf16.h>

/* clang-format off: a fault and its mark share a line */

/* ---- shared memory, no barrier ---- */
__global__ void block_reduce_again(const int *x, int *out) {
    typedef cub::BlockReduce<int, 128> Reduce;
    __shared__ typename Reduce::TempStorage temp;
    int a = Reduce(temp).Sum(x[threadIdx.x]);
    int b = Reduce(temp).Sum(2 * x[threadIdx.x]); //! shared-race
    if (threadIdx.x == 0) out[0] = a, out[1] = b;
}
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
    RUN(block_reduce_again<<<1, 128>>>(n, n + 1024));
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

int main() {
    races();
    return 0;
}
