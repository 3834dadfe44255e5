/* shared_race.cu: each kernel has one race in shared memory; in some it is between lanes of a warp.
 */
#include "corpus.cuh"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void reverse(int *x) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = x[t];       // FAULT: shared-race
    x[t] = s[127 - t]; // OTHER
}
CASE(no_barrier_after_the_load) {
    reverse<<<1, 128>>>(device_copy(some<int>(128)));
    return true;
}

__global__ void tree(const int *in, int *out) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    for (int half = 64; half > 0; half /= 2)
        if (t < half) s[t] += s[t + half]; // FAULT: shared-race, OTHER
    if (t == 0) *out = s[0];
}
CASE(tree_without_barriers) {
    tree<<<1, 128>>>(device_copy(some<int>(128)), device_filled<int>(1, 0));
    return true;
}

__global__ void tiles(const float *a, float *c, int n) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += 64) {
        tile[t] = a[k + t]; // OTHER
        __syncthreads();
        for (int i = 0; i < 64; i++) sum += tile[i]; // FAULT: shared-race
    }
    c[t] = sum;
}
CASE(no_barrier_before_the_next_tile) {
    tiles<<<1, 64>>>(device_copy(some<float>(128)), device_filled<float>(64, 0), 128);
    return true;
}

__global__ void two_buffers(const int *in, int *out, int rounds) {
    __shared__ int ring[2][64];
    int t = threadIdx.x;
    ring[0][t] = in[t];
    __syncthreads();
    for (int r = 0; r < rounds; r++) {
        int v = ring[0][(t + 1) % 64]; // OTHER
        ring[0][t] = v + 1;            // FAULT: shared-race
        __syncthreads();
    }
    out[t] = ring[0][t];
}
CASE(one_buffer_where_two_are_needed) {
    two_buffers<<<1, 64>>>(device_copy(some<int>(64)), device_filled<int>(64, 0), 3);
    return true;
}

__global__ void count_in_block(const int *in, int *out) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (in[threadIdx.x] >= 0) count += 1; // FAULT: shared-race, OTHER
    __syncthreads();
    if (threadIdx.x == 0) *out = count;
}
CASE(shared_counter_without_atomic) {
    count_in_block<<<1, 64>>>(device_copy(some<int>(64)), device_filled<int>(1, 0));
    return true;
}

__global__ void warps_only(const int *in, int *out) {
    __shared__ int s[96];
    int t = threadIdx.x;
    s[t] = in[t]; // FAULT: shared-race
    __syncwarp();
    out[t] = s[(t + 40) % 96]; // OTHER
}
CASE(syncwarp_for_syncthreads) {
    warps_only<<<1, 96>>>(device_copy(some<int>(96)), device_filled<int>(96, 0));
    return true;
}

__global__ void arrays_overlap(const int *in, int *out, int n) {
    extern __shared__ int room[];
    int *first = room, *second = room + n - 1, t = threadIdx.x;
    first[t] = in[t];   // FAULT: shared-race
    second[t] = -in[t]; // OTHER
    __syncthreads();
    out[t] = first[t] + second[t];
}
CASE(carved_arrays_overlap) {
    int bytes = 2 * 64 * sizeof(int);
    arrays_overlap<<<1, 64, bytes>>>(device_copy(some<int>(64)), device_filled<int>(64, 0), 64);
    return true;
}

__global__ void bins_of_block(const int *in, int *out) {
    __shared__ int bin[16];
    int t = threadIdx.x;
    if (t < 16) bin[t] = 0;
    __syncthreads();
    bin[in[t]]++; // FAULT: shared-race, OTHER
    __syncthreads();
    if (t < 16) out[t] = bin[t];
}
CASE(histogram_without_atomic) {
    bins_of_block<<<1, 64>>>(device_copy(std::vector<int>(64, 5)), device_filled<int>(16, 0));
    return true;
}

__global__ void scan_in_place(const int *in, int *out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    for (int d = 1; d < 64; d *= 2) {
        __syncthreads();
        int left = t >= d ? s[t - d] : 0; // FAULT: shared-race
        s[t] += left;                     // OTHER
    }
    out[t] = s[t];
}
CASE(scan_without_second_buffer) {
    scan_in_place<<<1, 64>>>(device_copy(some<int>(64)), device_filled<int>(64, 0));
    return true;
}

__global__ void first_value(const int *in, int *out) {
    __shared__ int chosen;
    if (threadIdx.x == 0) chosen = in[7];             // OTHER
    if (threadIdx.x >= 32) out[threadIdx.x] = chosen; // FAULT: shared-race
}
CASE(broadcast_without_barrier) {
    first_value<<<1, 64>>>(device_copy(some<int>(64)), device_filled<int>(64, 0));
    return true;
}

__device__ int block_total(int *room, int v) {
    int t = threadIdx.x, sum = 0;
    room[t] = v; // OTHER
    __syncthreads();
    for (int i = 0; i < (int)blockDim.x; i++) sum += room[i]; // FAULT: shared-race
    return sum;
}
__global__ void variance(const int *in, int *out) {
    __shared__ int room[64];
    int t = threadIdx.x, sum = block_total(room, in[t]);
    int d = 64 * in[t] - sum;
    int squares = block_total(room, d * d);
    out[t] = squares;
}
CASE(second_use_of_an_array) {
    variance<<<1, 64>>>(device_copy(some<int>(64)), device_filled<int>(64, 0));
    return true;
}

__global__ void flags_in_bytes(unsigned char *out) {
    __shared__ unsigned char flag[64];
    int t = threadIdx.x;
    flag[t] = (unsigned char)t; // FAULT: shared-race
    __syncwarp();
    out[t] = flag[t ^ 32]; // OTHER
}
CASE(bytes_without_barrier) {
    flags_in_bytes<<<1, 64>>>(device_filled<unsigned char>(64, 0));
    return true;
}

__global__ void words_and_bytes(const int *in, unsigned char *out) {
    __shared__ int word[64];
    int t = threadIdx.x;
    word[t] = in[t];                           // FAULT: shared-race
    out[t] = ((unsigned char *)word)[255 - t]; // OTHER
}
CASE(words_read_as_bytes) {
    words_and_bytes<<<1, 64>>>(device_copy(some<int>(64)), device_filled<unsigned char>(64, 0));
    return true;
}

__global__ void part_of_the_warps(const int *in, int *out) {
    __shared__ int part[4], finished;
    int t = threadIdx.x;
    if (t == 0) finished = 0;
    __syncthreads();
    if (t % 32) return;
    part[t / 32] = in[t]; // OTHER
    if (atomicAdd(&finished, 1) == 3)
        *out = part[0] + part[1] + part[2] + part[3]; // FAULT: shared-race
}
CASE(last_warp_without_fence) {
    part_of_the_warps<<<1, 128>>>(device_copy(some<int>(128)), device_filled<int>(1, 0));
    return true;
}

__global__ void atomic_then_plain(const int *in, int *out) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[threadIdx.x]);  // OTHER
    if (threadIdx.x == 63) *out = sum; // FAULT: shared-race
}
CASE(plain_read_after_shared_atomics) {
    atomic_then_plain<<<1, 64>>>(device_copy(some<int>(64)), device_filled<int>(1, 0));
    return true;
}

__global__ void two_rounds(int *x) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int j = 64; j >= 32; j /= 2) {
        int a = s[t], b = s[t ^ j]; // OTHER
        __syncthreads();
        s[t] = a > b ? a : b; // FAULT: shared-race
    }
    __syncthreads();
    x[t] = s[t];
}
CASE(no_barrier_before_the_next_round) {
    two_rounds<<<1, 128>>>(device_copy(some<int>(128)));
    return true;
}

/* ---- between lanes of one warp ---- */
__global__ void last_steps(const int *in, int *out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    if (t < 32)
        for (int d = 32; d > 0; d /= 2) {
            int other = s[t + d]; // OTHER
            s[t] += other;        // FAULT: warp-race
        }
    if (t == 0) *out = s[0];
}
CASE(tree_in_a_warp) {
    last_steps<<<1, 64>>>(device_copy(some<int>(64)), device_filled<int>(1, 0));
    return true;
}

__global__ void volatile_is_not_enough(const int *in, int *out) {
    __shared__ volatile int s[32];
    int t = threadIdx.x;
    s[t] = in[t];       // FAULT: warp-race
    out[t] = s[31 - t]; // OTHER
}
CASE(volatile_without_syncwarp) {
    volatile_is_not_enough<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}

__global__ void shuffle_between(const int *in, int *out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = in[t]; // OTHER
    int v = __shfl_xor_sync(0xffffffffu, t, 1);
    out[t] = s[v]; // FAULT: warp-race
}
CASE(a_shuffle_orders_no_memory) {
    shuffle_between<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}

__global__ void vote_between(const int *in, int *out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = in[t];                                                     // OTHER
    if (__any_sync(0xffffffffu, in[t] > 3)) out[t] = s[(t + 1) % 32]; // FAULT: warp-race
}
CASE(a_vote_orders_no_memory) {
    vote_between<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}

__global__ void rotate(const int *in, int *out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncwarp();
    int v = s[(t + 1) % 32]; // OTHER
    s[t] = v;                // FAULT: warp-race
    __syncwarp();
    out[t] = s[t];
}
CASE(syncwarp_on_one_side_only) {
    rotate<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}

__global__ void half_waits(const int *in, int *out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = in[t]; // FAULT: warp-race
    if (t < 16)
        __syncwarp(0x0000ffffu);
    else
        __syncwarp(0xffff0000u);
    out[t] = s[(t + 8) % 32]; // OTHER
}
CASE(syncwarp_of_too_few_lanes) {
    half_waits<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}

__global__ void leader_tells(const int *in, int *out) {
    __shared__ int told[4];
    int t = threadIdx.x, w = t / 32;
    if (t % 32 == 0) told[w] = in[w]; // OTHER
    out[t] = told[w];                 // FAULT: warp-race
}
CASE(leader_of_a_warp_writes) {
    leader_tells<<<1, 128>>>(device_copy(some<int>(4)), device_filled<int>(128, 0));
    return true;
}

__global__ void lanes_exchange_globally(int *box, int *out) {
    int t = threadIdx.x;
    box[t] = 2 * t;      // FAULT: warp-race
    out[t] = box[t ^ 1]; // OTHER
}
CASE(lanes_exchange_in_global_memory) {
    lanes_exchange_globally<<<1, 64>>>(device_filled<int>(64, 0), device_filled<int>(64, 0));
    return true;
}

__global__ void tile_too_small(const int *in, int *out) {
    __shared__ int s[32];
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(cg::this_thread_block());
    int t = threadIdx.x;
    s[t] = in[t]; // FAULT: warp-race
    tile.sync();
    out[t] = s[t ^ 8]; // OTHER
}
CASE(tile_smaller_than_the_exchange) {
    tile_too_small<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}
