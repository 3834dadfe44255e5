/* together.cu: faults: barriers, warp operations and launches that CUDA doesn't allow. */
#include "corpus.cuh"
#include <cooperative_groups.h>
#include <mma.h>

namespace cg = cooperative_groups;
#define FULL 0xffffffffu

__global__ void in_a_branch(const int *in, int *out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    if (t < 32) {
        __syncthreads(); // FAULT: barrier-divergence
        out[t] = in[t];
    }
}
CASE(barrier_for_some_threads) {
    in_a_branch<<<1, 64>>>(device_copy(some<int>(64)), device_filled<int>(64, 0));
    return true;
}

__global__ void return_first(const int *in, int *out, int n) {
    __shared__ int s[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    s[threadIdx.x] = in[i];
    __syncthreads(); // FAULT: barrier-divergence
    out[i] = s[threadIdx.x];
}
CASE(return_before_the_barrier) {
    return_first<<<2, 64>>>(device_copy(some<int>(100)), device_filled<int>(100, 0), 100);
    return true;
}

__global__ void two_barriers(const int *in, int *out) {
    int t = threadIdx.x, v = in[t];
    if (t % 2) {
        __syncthreads(); // FAULT: barrier-divergence
        v += 1;
    } else {
        __syncthreads();
        v += 2;
    }
    out[t] = v;
}
CASE(a_barrier_on_each_way) {
    two_barriers<<<1, 64>>>(device_copy(some<int>(64)), device_filled<int>(64, 0));
    return true;
}

__global__ void rounds_by_thread(int *out) {
    int t = threadIdx.x, sum = 0;
    for (int i = 0; i < t % 3 + 1; i++) {
        sum += i;
        __syncthreads(); // FAULT: barrier-divergence
    }
    out[t] = sum;
}
CASE(rounds_differ_by_thread) {
    rounds_by_thread<<<1, 64>>>(device_filled<int>(64, 0));
    return true;
}

__global__ void loop_then_barrier(int *out) {
    int t = threadIdx.x;
    for (int i = 0; i < t / 32 + 1; i++) __syncthreads(); // FAULT: barrier-divergence
    out[t] = 1;
    __syncthreads();
    out[t] = 2;
}
CASE(one_round_more_for_a_warp) {
    loop_then_barrier<<<1, 64>>>(device_filled<int>(64, 0));
    return true;
}

__device__ int vote(int v) {
    return __syncthreads_count(v > 3); // FAULT: barrier-divergence
}
__global__ void vote_in_a_branch(const int *in, int *out) {
    int t = threadIdx.x;
    out[t] = in[t] > 7 ? vote(in[t]) : 0;
}
CASE(counting_barrier_in_a_function) {
    vote_in_a_branch<<<1, 64>>>(device_copy(some<int>(64)), device_filled<int>(64, 0));
    return true;
}

__global__ void group_in_a_branch(int *out) {
    cg::thread_block block = cg::this_thread_block();
    if (block.thread_rank() != 0) block.sync(); // FAULT: barrier-divergence
    out[threadIdx.x] = 1;
}
CASE(group_sync_without_one_thread) {
    group_in_a_branch<<<1, 64>>>(device_filled<int>(64, 0));
    return true;
}

__global__ void stop_early(const int *in, int *out, int rounds) {
    __shared__ int s[64];
    int t = threadIdx.x;
    for (int r = 0; r < rounds; r++) {
        if (in[t] == r) break;
        __syncthreads(); // FAULT: barrier-divergence
        s[t] = r;
    }
    out[t] = 1;
}
CASE(threads_leave_the_loop) {
    stop_early<<<1, 64>>>(device_copy(some<int>(64)), device_filled<int>(64, 0), 4);
    return true;
}

__global__ void by_case(const int *in, int *out) {
    int t = threadIdx.x;
    switch (t / 32) {
    case 0:
        out[t] = in[t];
        __syncthreads();
        break;
    case 1:
        out[t] = -in[t];
        __syncthreads(); // FAULT: barrier-divergence
        break;
    }
}
CASE(a_barrier_in_each_case) {
    by_case<<<1, 64>>>(device_copy(some<int>(64)), device_filled<int>(64, 0));
    return true;
}

/* ---- masks of warp operations ---- */
__global__ void full_mask_in_a_branch(const int *in, int *out) {
    int t = threadIdx.x, v = in[t];
    if (t < 16) v += __shfl_down_sync(FULL, v, 8); // FAULT: warp-mask
    out[t] = v;
}
CASE(full_mask_in_a_branch) {
    full_mask_in_a_branch<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}

__global__ void not_in_the_mask(const int *in, int *out) {
    int t = threadIdx.x;
    out[t] = __shfl_xor_sync(0x0000ffffu, in[t], 1); // FAULT: warp-mask
}
CASE(caller_not_in_its_mask) {
    not_in_the_mask<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}

__global__ void short_warp(const int *in, int *out) {
    int t = threadIdx.x, v = in[t];
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(FULL, v, d); // FAULT: warp-mask
    out[t] = v;
}
CASE(values_of_lanes_that_do_not_exist) {
    short_warp<<<1, 20>>>(device_copy(some<int>(20)), device_filled<int>(20, 0));
    return true;
}

__global__ void from_outside(const int *in, int *out) {
    int t = threadIdx.x, v = in[t];
    if (t < 8) v = __shfl_sync(0x000000ffu, v, t + 8); // FAULT: warp-mask
    out[t] = v;
}
CASE(source_lane_outside_of_the_mask) {
    from_outside<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}

__global__ void lanes_gone(const int *in, int *out, int n) {
    int t = threadIdx.x;
    if (t >= n) return;
    int v = in[t];
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(FULL, v, d); // FAULT: warp-mask
    out[t] = v;
}
CASE(values_of_lanes_that_returned) {
    lanes_gone<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0), 25);
    return true;
}

/* Both sides of a branch may meet in one operation, but it must be the same operation. */
__global__ void two_shuffles(const int *in, int *out) {
    int t = threadIdx.x, v = in[t];
    if (t < 16)
        v += __shfl_xor_sync(FULL, v, 1);
    else
        v -= __shfl_down_sync(FULL, v, 1, 16); // FAULT: warp-mask
    out[t] = v;
}
CASE(two_kinds_of_shuffle_for_one_mask) {
    two_shuffles<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}

__global__ void two_sizes(const int *in, int *out) {
    int t = threadIdx.x, v = in[t];
    if (t < 16)
        v += __shfl_xor_sync(FULL, v, 16);
    else
        v += (int)__shfl_xor_sync(FULL, (long long)v, 16); // FAULT: warp-mask
    out[t] = v;
}
CASE(shuffles_of_4_and_8_bytes_for_one_mask) {
    two_sizes<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}

__global__ void sync_or_vote(int *out) {
    int t = threadIdx.x, v = 0;
    switch (t % 3) {
    case 0:
        __syncwarp();
        break;
    case 1:
        v = __ballot_sync(FULL, t > 5) != 0; // FAULT: warp-mask
        break;
    default:
        __syncwarp();
    }
    out[t] = v;
}
CASE(syncwarp_meets_a_vote) {
    sync_or_vote<<<1, 32>>>(device_filled<int>(32, 0));
    return true;
}

__global__ void two_reductions(const int *in, int *out) {
    int t = threadIdx.x, v = in[t];
    out[t] = t < 8 ? __reduce_add_sync(FULL, v) : __reduce_max_sync(FULL, v); // FAULT: warp-mask
}
CASE(two_reductions_on_one_line) {
    two_reductions<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}

__global__ void two_matches(const int *in, int *out) {
    int t = threadIdx.x, v = in[t], all = 0;
    unsigned same;
    if (t & 1)
        same = __match_any_sync(FULL, v); // FAULT: warp-mask
    else
        same = __match_all_sync(FULL, v, &all);
    out[t] = (int)same + all;
}
CASE(two_kinds_of_match_for_one_mask) {
    two_matches<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}

__global__ void two_tile_votes(const int *in, int *out) {
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(cg::this_thread_block());
    int t = threadIdx.x, v = in[t];
    if (t % 8 < 4)
        v = tile.any(v > 3);
    else
        v = tile.all(v > 3); // FAULT: warp-mask
    out[t] = v;
}
CASE(two_kinds_of_vote_in_a_tile) {
    two_tile_votes<<<1, 64>>>(device_copy(some<int>(64)), device_filled<int>(64, 0));
    return true;
}

/* Two rounds of one operation against three: the third waits for lanes that are past it. */
__global__ void a_round_more(const int *in, int *out) {
    int t = threadIdx.x, v = in[t];
    for (int i = 0; i < (t < 16 ? 2 : 3); i++) v += __reduce_or_sync(FULL, v); // FAULT: warp-mask
    out[t] = v;
}
CASE(half_a_warp_makes_a_round_more) {
    a_round_more<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}

/* Lane 31 returns while the others wait for it; one of them wants its value. */
__global__ void source_returns(const int *in, int *out) {
    int t = threadIdx.x;
    if (t == 31) return;
    out[t] = __shfl_sync(FULL, in[t], t == 4 ? 31 : 0); // FAULT: warp-mask
}
CASE(value_of_the_lane_that_returns_last) {
    source_returns<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}

__global__ void part_of_a_warp(const __half *a, float *out) {
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major> x;
    if (threadIdx.x < 31) nvcuda::wmma::load_matrix_sync(x, a, 16); // FAULT: warp-mask
    if (threadIdx.x == 0) out[0] = (float)x.x[0];
}
CASE(matrix_load_without_a_lane) {
    part_of_a_warp<<<1, 32>>>(device_filled<__half>(256, __half()), device_filled<float>(1, 0));
    return true;
}

__global__ void masks_differ(const int *in, int *out) {
    int t = threadIdx.x;
    unsigned mask = t < 16 ? 0x0001ffffu : 0xffff0000u;
    out[t] = __ballot_sync(mask, in[t] > 7); // FAULT: warp-mask
}
CASE(lanes_disagree_on_the_mask) {
    masks_differ<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}

__global__ void warp_or_block(const int *in, int *out) {
    int t = threadIdx.x, v = in[t];
    if (t != 5) v = __any_sync(FULL, v > 3); // FAULT: warp-mask
    __syncthreads();
    out[t] = v;
}
CASE(a_lane_at_the_barrier_instead) {
    warp_or_block<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}

__global__ void sync_some(int *out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;
    if (t % 2 == 0) __syncwarp(0x55555557u); // FAULT: warp-mask
    out[t] = s[t];
}
CASE(syncwarp_for_a_lane_elsewhere) {
    sync_some<<<1, 32>>>(device_filled<int>(32, 0));
    return true;
}

__global__ void match_some(const int *in, int *out) {
    int t = threadIdx.x;
    out[t] = t < 30 ? (int)__match_any_sync(FULL, in[t]) : 0; // FAULT: warp-mask
}
CASE(match_in_a_branch) {
    match_some<<<1, 32>>>(device_copy(some<int>(32)), device_filled<int>(32, 0));
    return true;
}

/* ---- launches ---- */
__global__ void ordinary(int *out) {
    if (out) out[0] = 1;
}
CASE(too_many_threads) {
    int *out = device_filled<int>(1, 0);
    ordinary<<<1, 1025>>>(out); // FAULT: illegal-launch
    return host_copy(out, 1)[0] == 0;
}
__global__ void plain(int *out) {
    if (out) out[0] = 1;
}
CASE(threads_multiply_to_too_many) {
    int *out = device_filled<int>(1, 0);
    plain<<<1, dim3(32, 33)>>>(out); // FAULT: illegal-launch
    return host_copy(out, 1)[0] == 0;
}
__global__ void flat(int *out) {
    if (out) out[0] = 1;
}
CASE(block_too_deep) {
    int *out = device_filled<int>(1, 0);
    flat<<<1, dim3(1, 1, 65)>>>(out); // FAULT: illegal-launch
    return host_copy(out, 1)[0] == 0;
}
__global__ void empty_grid(int *out) {
    if (out) out[0] = 1;
}
CASE(grid_of_no_blocks) {
    int *out = device_filled<int>(1, 0), n = 0;
    empty_grid<<<(n + 255) / 256, 256>>>(out); // FAULT: illegal-launch
    return host_copy(out, 1)[0] == 0;
}
__global__ void empty_block(int *out) {
    if (out) out[0] = 1;
}
CASE(block_of_no_threads) {
    int *out = device_filled<int>(1, 0);
    empty_block<<<4, dim3(32, 0)>>>(out); // FAULT: illegal-launch
    return host_copy(out, 1)[0] == 0;
}
__global__ void tall(int *out) {
    if (out) out[0] = 1;
}
CASE(grid_too_tall) {
    int *out = device_filled<int>(1, 0);
    tall<<<dim3(1, 65536), 1>>>(out); // FAULT: illegal-launch
    return host_copy(out, 1)[0] == 0;
}
__global__ void greedy(int *out) {
    extern __shared__ int much[];
    much[threadIdx.x] = 1;
    out[0] = much[threadIdx.x];
}
CASE(dynamic_memory_over_the_limit) {
    int *out = device_filled<int>(1, 0);
    greedy<<<1, 1, 48 * 1024 + 4>>>(out); // FAULT: illegal-launch
    return host_copy(out, 1)[0] == 0;
}
__global__ void static_and_dynamic(int *out) {
    __shared__ int fixed[10 * 1024];
    extern __shared__ int more[];
    fixed[threadIdx.x] = 1, more[threadIdx.x] = 2;
    out[0] = fixed[threadIdx.x] + more[threadIdx.x];
}
CASE(static_and_dynamic_over_the_limit) {
    int *out = device_filled<int>(1, 0);
    static_and_dynamic<<<1, 1, 10 * 1024>>>(out); // FAULT: illegal-launch
    return host_copy(out, 1)[0] == 0;
}
__global__ void __launch_bounds__(128) bounded(int *out) {
    if (threadIdx.x == 0) out[0] = 1;
}
CASE(more_threads_than_promised) {
    int *out = device_filled<int>(1, 0);
    bounded<<<1, 256>>>(out); // FAULT: illegal-launch
    return host_copy(out, 1)[0] == 0;
}
