/* warp.cu: correct kernels whose lanes work together. */
#include "corpus.cuh"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;
#define FULL 0xffffffffu

__device__ int warp_sum(int v) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(FULL, v, d);
    return v;
}
/* Shuffles within warps, shared memory between them. */
__global__ void sum_by_shuffle(const int *in, int *out, int n) {
    __shared__ int part[4];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = warp_sum(i < n ? in[i] : 0);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = warp_sum(threadIdx.x < 4 ? part[threadIdx.x] : 0);
        if (threadIdx.x == 0) out[blockIdx.x] = v;
    }
}
CASE(reduction_by_shuffles) {
    std::vector<int> in = some<int>(300);
    int *out = device_filled<int>(3, 0);
    sum_by_shuffle<<<3, 128>>>(device_copy(in), out, 300);
    return total(host_copy(out, 3)) == total(in);
}

/* The last steps of a tree without barriers of the block, with __syncwarp after each half. */
__global__ void sum_in_warp(const int *in, int *out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    if (t < 32) {
        int v = s[t] + s[t + 32];
        for (int d = 16; d > 0; d /= 2) {
            s[t] = v;
            __syncwarp();
            v += s[(t + d) % 32];
            __syncwarp();
        }
        if (t == 0) *out = v;
    }
}
CASE(warp_synchronous_tree) {
    std::vector<int> in = some<int>(64);
    int *out = device_filled<int>(1, 0);
    sum_in_warp<<<1, 64>>>(device_copy(in), out);
    return host_copy(out, 1)[0] == total(in);
}

/* The old idiom made right: volatile, and a __syncwarp between every read and write. */
__global__ void sum_volatile(const int *in, int *out) {
    __shared__ volatile int s[32];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncwarp();
    for (int d = 16; d > 0; d /= 2) {
        int other = t < d ? s[t + d] : 0;
        __syncwarp();
        if (t < d) s[t] = s[t] + other;
        __syncwarp();
    }
    out[t] = s[0];
}
CASE(volatile_with_syncwarp) {
    std::vector<int> in = some<int>(32);
    int *out = device_filled<int>(32, 0);
    sum_volatile<<<1, 32>>>(device_copy(in), out);
    return host_copy(out, 32)[31] == total(in);
}

__global__ void scan_by_lanes(const int *in, int *out) {
    int lane = threadIdx.x % 32, v = in[threadIdx.x];
    for (int d = 1; d < 32; d *= 2) {
        int left = __shfl_up_sync(FULL, v, d);
        if (lane >= d) v += left;
    }
    out[threadIdx.x] = v;
}
CASE(scan_by_shuffles) {
    std::vector<int> in = some<int>(96);
    int *out = device_filled<int>(96, 0), sum = 0;
    scan_by_lanes<<<1, 96>>>(device_copy(in), out);
    std::vector<int> got = host_copy(out, 96);
    bool good = true;
    for (int i = 0; i < 96; i++) {
        sum = i % 32 ? sum + in[i] : in[i];
        good &= got[i] == sum;
    }
    return good;
}

/* Parts of a warp in different branches, each with the mask of its lanes. */
__global__ void two_ways(const int *in, int *out) {
    int t = threadIdx.x, v = in[t];
    if (t < 12) {
        v += __shfl_sync(0x00000fffu, v, 11 - t);
    } else if (t < 20) {
        for (int d = 2; d; d /= 2) v += __shfl_xor_sync(0x000ff000u, v, d, 4);
    } else {
        v = __ballot_sync(0xfff00000u, v > 7);
    }
    out[t] = v;
}
CASE(shuffles_with_partial_masks) {
    std::vector<int> in = some<int>(32);
    int *out = device_filled<int>(32, 0);
    two_ways<<<1, 32>>>(device_copy(in), out);
    std::vector<int> got = host_copy(out, 32);
    bool good = true;
    unsigned bits = 0;
    for (int t = 20; t < 32; t++) bits |= (unsigned)(in[t] > 7) << t;
    for (int t = 0; t < 12; t++) good &= got[t] == in[t] + in[11 - t];
    for (int t = 20; t < 32; t++) good &= (unsigned)got[t] == bits;
    return good;
}

/* Halves of a warp exchange through shared memory, each with its own __syncwarp. */
__global__ void halves(const int *in, int *out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    if (t < 16) {
        s[t] = in[t];
        __syncwarp(0x0000ffffu);
        out[t] = s[15 - t];
    } else {
        s[t] = in[t] * 2;
        __syncwarp(0xffff0000u);
        out[t] = s[47 - t];
    }
    __syncwarp();
    s[t] = 0;
    out[t] += s[t];
}
CASE(syncwarp_of_each_half) {
    std::vector<int> in = some<int>(32);
    int *out = device_filled<int>(32, 0);
    halves<<<1, 32>>>(device_copy(in), out);
    std::vector<int> got = host_copy(out, 32);
    bool good = true;
    for (int t = 0; t < 32; t++) good &= got[t] == (t < 16 ? in[15 - t] : 2 * in[47 - t]);
    return good;
}

/* Two lanes far apart share a word: both read, they meet, one writes. */
__global__ void distant_pair(int *out) {
    __shared__ int box[4];
    int t = threadIdx.x, seen = 0;
    if (t < 4) box[t] = 10 * t;
    __syncwarp();
    if (t == 3 || t == 9) {
        seen = box[1] + box[2];
        __syncwarp(1u << 3 | 1u << 9);
        if (t == 9) box[1] = 5;
        __syncwarp(1u << 3 | 1u << 9);
        seen += box[1];
    }
    out[t] = seen;
}
CASE(syncwarp_of_two_distant_lanes) {
    int *out = device_filled<int>(32, 0);
    distant_pair<<<1, 32>>>(out);
    std::vector<int> got = host_copy(out, 32);
    return got[3] == 35 && got[9] == 35 && got[4] == 0;
}

/* __syncwarp is transitive: lane 0 meets lane 1, which has met lane 2. */
__global__ void chain(int *out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t + 1;
    if (t >= 2 && t < 4) __syncwarp(0xcu);
    if (t >= 1 && t < 3) __syncwarp(0x6u);
    if (t < 2) __syncwarp(0x3u);
    if (t == 0) out[0] = s[0] + s[1] + s[2] + s[3];
}
CASE(order_through_a_chain_of_lanes) {
    int *out = device_filled<int>(1, 0);
    chain<<<1, 32>>>(out);
    return host_copy(out, 1)[0] == 10;
}

/* One atomic for all lanes with the same key. */
__global__ void count_keys(const int *key, int *count, int *rank) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, base = 0;
    unsigned same = __match_any_sync(FULL, key[i]);
    int leader = __ffs(same) - 1;
    if (lane == leader) base = atomicAdd(&count[key[i]], __popc(same));
    base = __shfl_sync(FULL, base, leader);
    rank[i] = base + __popc(same & ((1u << lane) - 1));
}
CASE(atomics_aggregated_by_match) {
    std::vector<int> key = some<int>(256), seen(16 * 256);
    int *count = device_filled<int>(16, 0), *rank = device_filled<int>(256, 0);
    count_keys<<<2, 128>>>(device_copy(key), count, rank);
    std::vector<int> r = host_copy(rank, 256), c = host_copy(count, 16);
    bool good = total(c) == 256;
    for (int i = 0; i < 256; i++) good &= r[i] < c[key[i]] && !seen[key[i] * 256 + r[i]]++;
    return good;
}

/* Compaction: the lanes that want to write agree by a ballot, one of them asks for room. */
__global__ void keep_large(const int *in, int *out, int *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, start = 0;
    bool keep = i < n && in[i] > 9;
    unsigned who = __ballot_sync(FULL, keep);
    if (lane == 0 && who) start = atomicAdd(count, __popc(who));
    start = __shfl_sync(FULL, start, 0);
    if (keep) out[start + __popc(who & ((1u << lane) - 1))] = in[i];
}
CASE(compaction_by_ballot) {
    std::vector<int> in = some<int>(500);
    int *out = device_filled<int>(500, 0), *count = device_filled<int>(1, 0), n = 0, sum = 0;
    keep_large<<<4, 128>>>(device_copy(in), out, count, 500);
    for (int v : in) n += v > 9, sum += v > 9 ? v : 0;
    return host_copy(count, 1)[0] == n && total(host_copy(out, 500)) == sum;
}

/* Cooperative groups: tiles of 8 lanes reduce, then the block meets. */
__global__ void tile_sums(const int *in, int *out) {
    __shared__ int part[16];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int v = cg::reduce(tile, in[block.thread_rank()], cg::plus<int>());
    if (tile.thread_rank() == 0) part[tile.meta_group_rank()] = v;
    block.sync();
    out[block.thread_rank()] = part[15 - tile.meta_group_rank()] + tile.shfl(v, 3);
}
CASE(cooperative_tiles) {
    std::vector<int> in = some<int>(128), sums(16);
    for (int i = 0; i < 128; i++) sums[i / 8] += in[i];
    int *out = device_filled<int>(128, 0);
    tile_sums<<<1, 128>>>(device_copy(in), out);
    std::vector<int> got = host_copy(out, 128);
    bool good = true;
    for (int i = 0; i < 128; i++) good &= got[i] == sums[15 - i / 8] + sums[i / 8];
    return good;
}

/* Tiles exchange through shared memory, ordered by the tile's own sync. */
__global__ void tile_exchange(const int *in, int *out) {
    __shared__ int s[64];
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(cg::this_thread_block());
    int t = threadIdx.x, base = t / 16 * 16;
    for (int round = 0; round < 3; round++) {
        s[t] = in[t] + round;
        tile.sync();
        int v = s[base + (t + 1) % 16];
        tile.sync();
        out[t] = v;
    }
}
CASE(tiles_exchange_in_shared_memory) {
    std::vector<int> in = some<int>(64);
    int *out = device_filled<int>(64, 0);
    tile_exchange<<<1, 64>>>(device_copy(in), out);
    std::vector<int> got = host_copy(out, 64);
    bool good = true;
    for (int i = 0; i < 64; i++) good &= got[i] == in[i / 16 * 16 + (i + 1) % 16] + 2;
    return good;
}

/* The last warp has 13 lanes with work: they shuffle among themselves; the others have returned
 * before the __syncwarp of all. */
__global__ void ragged(const int *in, int *out, int n) {
    __shared__ int s[64];
    int t = threadIdx.x, lane = t % 32;
    if (t >= n) return;
    unsigned present = t < 32 ? FULL : (1u << (n - 32)) - 1;
    int v = __shfl_up_sync(present, in[t], 1);
    if (lane == 0) v = 0;
    s[t] = v;
    __syncwarp();
    out[t] = lane == 1 ? s[t - 1] + s[t] : v;
}
CASE(ragged_last_warp) {
    const int n = 45;
    std::vector<int> in = some<int>(n);
    int *out = device_filled<int>(n, 0);
    ragged<<<1, 64>>>(device_copy(in), out, n);
    std::vector<int> got = host_copy(out, n);
    bool good = true;
    for (int t = 0; t < n; t++) good &= got[t] == (t % 32 ? in[t - 1] : 0);
    return good;
}

/* A row a warp; lanes of one warp never wait for another warp's. */
__global__ void row_maxima(const int *in, int *out, int rows, int columns) {
    int row = blockIdx.x * blockDim.y + threadIdx.y, best = -1;
    if (row >= rows) return;
    for (int x = threadIdx.x; x < columns; x += 32) best = max(best, in[row * columns + x]);
    best = __reduce_max_sync(FULL, best);
    if (threadIdx.x == 0) out[row] = best;
}
CASE(row_for_each_warp) {
    const int rows = 7, columns = 50;
    std::vector<int> in(rows * columns);
    for (int i = 0; i < rows * columns; i++) in[i] = i * 37 % 351;
    int *out = device_filled<int>(rows, 0);
    row_maxima<<<2, dim3(32, 4)>>>(device_copy(in), out, rows, columns);
    std::vector<int> got = host_copy(out, rows);
    bool good = true;
    for (int y = 0; y < rows; y++) {
        int best = -1;
        for (int x = 0; x < columns; x++)
            best = best < in[y * columns + x] ? in[y * columns + x] : best;
        good &= got[y] == best;
    }
    return good;
}

/* Loops that lanes leave at different times meet again at a __syncwarp. */
__global__ void collatz(int *out) {
    __shared__ int steps[32];
    int t = threadIdx.x, n = t + 1, count = 0;
    while (n != 1) n = n % 2 ? 3 * n + 1 : n / 2, count++;
    steps[t] = count;
    __syncwarp();
    int any = __any_sync(FULL, count > 100), all = __all_sync(FULL, count < 200);
    out[t] = steps[31 - t] + 1000 * any + 2000 * all;
}
CASE(divergent_loop_then_syncwarp) {
    int *out = device_filled<int>(32, 0);
    collatz<<<1, 32>>>(out);
    std::vector<int> got = host_copy(out, 32);
    return got[31] == 3000 && got[5] == 3111 && got[0] == 3005;
}

/* ---- one operation reached on several lines, as since sm_70 ---- */
__global__ void swap_halves(int *out) {
    int t = threadIdx.x, v = 100 + t;
    if (t % 32 < 16) {
        v *= 2;
        v = __shfl_xor_sync(FULL, v, 16);
    } else {
        v = __shfl_xor_sync(FULL, v, 16);
    }
    out[t] = v;
}
CASE(shuffle_on_both_sides_of_a_branch) {
    int *out = device_filled<int>(64, 0), bad = 0;
    swap_halves<<<1, 64>>>(out);
    std::vector<int> got = host_copy(out, 64);
    for (int t = 0; t < 64; t++) bad += got[t] != (t % 32 < 16 ? 116 + t : 2 * (84 + t));
    return bad == 0;
}

__global__ void on_one_line(int *out) {
    int t = threadIdx.x;
    out[t] = t < 5 ? __shfl_sync(FULL, t, 7) : __shfl_sync(FULL, 2 * t, t < 20 ? 3 : 30);
}
CASE(two_shuffles_on_one_line) {
    int *out = device_filled<int>(32, 0), bad = 0;
    on_one_line<<<1, 32>>>(out);
    std::vector<int> got = host_copy(out, 32);
    for (int t = 0; t < 32; t++) bad += got[t] != (t < 5 ? 14 : t < 20 ? 3 : 60);
    return bad == 0;
}

/* Up and down, of 8 bytes, of floats and ints: the bits move, of any type. */
__global__ void many_kinds(long long *out) {
    int t = threadIdx.x;
    long long a, b, c;
    if (t % 2 == 0) {
        a = __shfl_up_sync(FULL, t, 1);
        b = __shfl_down_sync(FULL, (long long)t << 40, 1);
        c = (long long)__shfl_xor_sync(FULL, (float)t, 2);
    } else {
        a = __shfl_up_sync(FULL, 10 * t, 1);
        b = __shfl_down_sync(FULL, (long long)t << 41, 1);
        c = (long long)__shfl_xor_sync(FULL, 2.0f * (float)t, 2);
    }
    out[t] = t == 0 || t == 31 ? 0 : a + b + c;
}
CASE(every_shuffle_on_two_lines) {
    long long *out = device_filled<long long>(32, 0);
    many_kinds<<<1, 32>>>(out);
    std::vector<long long> got = host_copy(out, 32);
    bool good = true;
    for (long long t = 1; t < 31; t++) {
        long long up = t % 2 ? t - 1 : 10 * (t - 1);
        long long down = t % 2 ? (t + 1) << 40 : (t + 1) << 41;
        good &= got[t] == up + down + (t % 2 ? 2 : 1) * (t ^ 2);
    }
    return good;
}

/* Votes and matches, on different lines in three cases of a switch. */
__global__ void by_cases(int *out) {
    int t = threadIdx.x, all = 0, v = 0;
    switch (t % 3) {
    case 0:
        v = __popc(__ballot_sync(FULL, t < 10)) + 100 * __any_sync(FULL, t == 3);
        v += 1000 * __all_sync(FULL, t < 32) + 10000 * __uni_sync(FULL, 1);
        v += 100000 * __popc(__match_any_sync(FULL, t / 8));
        break;
    case 1:
        v = __popc(__ballot_sync(FULL, t < 10)) + 100 * __any_sync(FULL, t == 3);
        v += 1000 * __all_sync(FULL, t < 32) + 10000 * __uni_sync(FULL, 1);
        v += 100000 * __popc(__match_any_sync(FULL, t / 8));
        break;
    default:
        v = __popc(__ballot_sync(FULL, t < 10)) + 100 * __any_sync(FULL, t == 3);
        v += 1000 * __all_sync(FULL, t < 32) + 10000 * __uni_sync(FULL, 1);
        v += 100000 * __popc(__match_any_sync(FULL, t / 8));
    }
    if (t < 31)
        v += 1000000 * __popc(__match_all_sync(FULL, 4, &all)) / 32;
    else
        v += 1000000 * __popc(__match_all_sync(FULL, 4, &all)) / 32;
    out[t] = v + 10000000 * all;
}
CASE(votes_and_matches_in_every_case) {
    int *out = device_filled<int>(32, 0), bad = 0;
    by_cases<<<1, 32>>>(out);
    for (int v : host_copy(out, 32)) bad += v != 11811110;
    return bad == 0;
}

__global__ void reduce_in_both(int *out) {
    int t = threadIdx.x, v;
    if (t & 4)
        v = __reduce_add_sync(FULL, t) + __reduce_max_sync(FULL, t - 40);
    else
        v = __reduce_add_sync(FULL, 1) + __reduce_max_sync(FULL, -50);
    out[t] = v;
}
CASE(reduction_on_both_sides_of_a_branch) {
    int *out = device_filled<int>(32, 0), bad = 0, sum = 16;
    for (int t = 0; t < 32; t++) sum += t & 4 ? t : 0;
    reduce_in_both<<<1, 32>>>(out);
    for (int v : host_copy(out, 32)) bad += v != sum - 9;
    return bad == 0;
}

/* Shared memory is ordered by the __syncwarp, although each half calls it on its own line. */
__global__ void meet_in_branches(int *out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;
    if (t < 16) {
        __syncwarp();
        out[t] = s[t + 16];
    } else {
        __syncwarp();
        out[t] = s[t - 16];
    }
}
CASE(syncwarp_on_both_sides_of_a_branch) {
    int *out = device_filled<int>(32, 0), bad = 0;
    meet_in_branches<<<1, 32>>>(out);
    std::vector<int> got = host_copy(out, 32);
    for (int t = 0; t < 32; t++) bad += got[t] != (t ^ 16);
    return bad == 0;
}

/* The same inside of a mask: three lanes meet in three cases, the others not at all. */
__global__ void three_lanes(int *out) {
    __shared__ int s[4];
    int t = threadIdx.x, v = -1;
    if (t < 3) s[t] = 10 * t;
    switch (t) {
    case 0:
        __syncwarp(7);
        v = s[1];
        break;
    case 1:
        __syncwarp(7);
        v = s[2];
        break;
    case 2:
        __syncwarp(7);
        v = s[0];
        break;
    }
    out[t] = v;
}
CASE(syncwarp_of_three_lanes_on_three_lines) {
    int *out = device_filled<int>(32, 0);
    three_lanes<<<1, 32>>>(out);
    std::vector<int> got = host_copy(out, 32);
    return got[0] == 10 && got[1] == 20 && got[2] == 0 && got[3] == -1;
}

/* A function that two places call, inlined or not. */
__device__ __forceinline__ int neighbour(int v) {
    return __shfl_xor_sync(FULL, v, 1);
}
__device__ __noinline__ int leader(int v) {
    return __shfl_sync(FULL, v, 0);
}
__global__ void from_two_places(int *out) {
    int t = threadIdx.x, v;
    if (t % 2) {
        v = neighbour(t) + 1;
        v = leader(v);
    } else {
        v = neighbour(3 * t) + 2;
        v = leader(v) + 100;
    }
    out[t] = v;
}
CASE(shuffle_in_a_function_called_from_two_places) {
    int *out = device_filled<int>(32, 0), bad = 0;
    from_two_places<<<1, 32>>>(out);
    std::vector<int> got = host_copy(out, 32);
    for (int t = 0; t < 32; t++) bad += got[t] != (t % 2 ? 3 : 103);
    return bad == 0;
}

/* Lanes are in different rounds, some behind the loop already, and each gives the number of
 * exchanges that the others give. */
__global__ void different_rounds(int *out) {
    int t = threadIdx.x, v = t, rounds = t % 4;
    for (int i = 0; i < rounds; i++) v = __shfl_xor_sync(FULL, v, 16) + 1;
    for (int i = rounds; i < 4; i++) v = __shfl_xor_sync(FULL, v, 16) + 1;
    out[t] = v;
}
CASE(shuffles_in_rounds_of_different_loops) {
    int *out = device_filled<int>(32, 0), bad = 0;
    different_rounds<<<1, 32>>>(out);
    std::vector<int> got = host_copy(out, 32);
    for (int t = 0; t < 32; t++) bad += got[t] != t + 4;
    return bad == 0;
}

__global__ void tiles_in_branches(int *out) {
    __shared__ int s[64];
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(cg::this_thread_block());
    int t = threadIdx.x, v;
    s[t] = t;
    if (tile.thread_rank() < 3) {
        tile.sync();
        v = tile.shfl(s[t ^ 7], 2) + tile.any(t == 4);
        v += cg::reduce(tile, v, cg::plus<int>());
    } else {
        tile.sync();
        v = tile.shfl(s[t ^ 7], 5) + tile.any(t == 4);
        v += cg::reduce(tile, v, cg::plus<int>());
    }
    out[t] = v;
}
CASE(tile_operations_on_both_sides_of_a_branch) {
    int *out = device_filled<int>(64, 0), bad = 0;
    tiles_in_branches<<<1, 64>>>(out);
    std::vector<int> got = host_copy(out, 64);
    for (int t = 0; t < 64; t++) {
        int base = t / 8 * 8, any = base == 0, sum = 8 * (base + any) + 3 * 5 + 5 * 2;
        bad += got[t] != base + (t % 8 < 3 ? 5 : 2) + any + sum;
    }
    return bad == 0;
}

/* ---- lanes that worked and have returned: CUDA ignores them ---- */
__global__ void some_return(const int *in, int *out, int n) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncwarp();
    if (t >= n) {
        out[t] = -1;
        return;
    }
    s[t] += 1;
    __syncwarp();
    int v = s[n - 1 - t];
    v += 100 * __popc(__ballot_sync(FULL, 1)) + 10000 * __all_sync(FULL, t < n);
    v += 100000 * __popc(__match_any_sync(FULL, 5)) + __reduce_add_sync(FULL, 1);
    out[t] = v;
}
CASE(votes_after_lanes_that_worked_returned) {
    const int n = 19;
    std::vector<int> in = some<int>(32);
    int *out = device_filled<int>(32, 0), bad = 0;
    some_return<<<1, 32>>>(device_copy(in), out, n);
    std::vector<int> got = host_copy(out, 32);
    for (int t = 0; t < 32; t++)
        bad += got[t] != (t < n ? in[n - 1 - t] + 1 + 100 * n + 10000 + 100000 * n + n : -1);
    return bad == 0;
}

/* They leave a loop one after another, the low lanes first, and then from the other end. */
__global__ void leave_in_turn(const int *in, int *out, bool low_first) {
    __shared__ int s[32];
    int t = threadIdx.x, turn = low_first ? t : 31 - t;
    for (int i = 0; i < 32; i++) {
        s[t] = in[t] + i;
        __syncwarp();
        int v = s[low_first ? 31 : 0];
        if (turn == i) {
            out[t] = v;
            return;
        }
        __syncwarp();
    }
}
CASE(lanes_return_from_a_loop_in_turn) {
    std::vector<int> in = some<int>(32);
    int *out = device_filled<int>(32, 0), bad = 0;
    leave_in_turn<<<1, 32>>>(device_copy(in), out, true);
    std::vector<int> got = host_copy(out, 32);
    for (int t = 0; t < 32; t++) bad += got[t] != in[31] + t;
    leave_in_turn<<<1, 32>>>(device_copy(in), out, false);
    got = host_copy(out, 32);
    for (int t = 0; t < 32; t++) bad += got[t] != in[0] + 31 - t;
    return bad == 0;
}

/* A value is read, and decides who returns. */
__global__ void value_decides(const int *in, int *out) {
    int t = threadIdx.x, v = in[t];
    if (v > 9) return;
    unsigned present = __ballot_sync(FULL, 1);
    out[t] = __shfl_sync(present, v, __ffs(present) - 1);
}
CASE(vote_after_a_value_decided_who_returns) {
    std::vector<int> in = some<int>(32);
    int *out = device_filled<int>(32, -1), bad = 0, first = 0;
    while (in[first] > 9) first++;
    value_decides<<<1, 32>>>(device_copy(in), out);
    std::vector<int> got = host_copy(out, 32);
    for (int t = 0; t < 32; t++) bad += got[t] != (in[t] > 9 ? -1 : in[first]);
    return bad == 0;
}
