/* cooperative_groups.h: thread_block and tiles of a warp. simtcc refuses a grid-wide group.
 *
 * A block's sync() is identified by its line: two calls on one line, on different branches, count
 * as one barrier. Tiles follow the rule of warp operations (simt.h): the same kind, on any line.
 */
#ifndef SIMT_COOPERATIVE_GROUPS_H
#define SIMT_COOPERATIVE_GROUPS_H

#include "cuda_runtime.h"

namespace cooperative_groups {

#define SIMT_AT_LINE unsigned line = (unsigned)__builtin_LINE()
enum : unsigned { SIMT_GROUP_SITE = 0xfff00000u }; /* distinct from __COUNTER__'s sites */

class thread_block {
  public:
    SIMT_UNSEEN static unsigned thread_rank() {
        return simt_thread_rank();
    }
    static unsigned size() {
        return blockDim.x * blockDim.y * blockDim.z;
    }
    static unsigned num_threads() {
        return size();
    }
    static dim3 group_index() {
        return dim3(blockIdx);
    }
    static dim3 thread_index() {
        return dim3(threadIdx);
    }
    static dim3 group_dim() {
        return dim3(blockDim);
    }
    static dim3 dim_threads() {
        return dim3(blockDim);
    }
    __attribute__((always_inline)) static void sync(SIMT_AT_LINE) {
        simt_barrier(SIMT_GROUP_SITE | (line & 0xffff), 0, 0);
    }
};
SIMT_INLINE thread_block this_thread_block() {
    return thread_block();
}

/* N consecutive lanes of a warp; N is 1, 2, 4, 8, 16 or 32. */
template <unsigned N> class thread_block_tile {
    static_assert(N >= 1 && N <= 32 && (N & (N - 1)) == 0,
                  "a tile has 1 to 32 lanes, a power of 2");

  public:
    static unsigned thread_rank() {
        return simt_lane() % N;
    }
    static constexpr unsigned size() {
        return N;
    }
    static constexpr unsigned num_threads() {
        return N;
    }
    static unsigned meta_group_rank() {
        return simt_thread_rank() / N;
    }
    static unsigned meta_group_size() {
        return (thread_block::size() + N - 1) / N;
    }
    static unsigned lanes() {
        return N == 32 ? 0xffffffffu : ((1u << N % 32) - 1) << (simt_lane() & ~(N - 1));
    }
#define SIMT_TILE      __attribute__((always_inline))
#define SIMT_TILE_SITE (SIMT_GROUP_SITE | (line & 0xffff))
    SIMT_TILE static void sync(SIMT_AT_LINE) {
        simt_syncwarp(lanes(), SIMT_TILE_SITE);
    }
    template <class T> SIMT_TILE static T shfl(T v, int lane, SIMT_AT_LINE) {
        return simt_shfl_idx(SIMT_TILE_SITE, lanes(), v, lane, (int)N);
    }
    template <class T> SIMT_TILE static T shfl_xor(T v, unsigned bits, SIMT_AT_LINE) {
        return simt_shfl_xor(SIMT_TILE_SITE, lanes(), v, (int)bits, (int)N);
    }
    template <class T> SIMT_TILE static T shfl_down(T v, unsigned delta, SIMT_AT_LINE) {
        return simt_shfl_down(SIMT_TILE_SITE, lanes(), v, delta, (int)N);
    }
    template <class T> SIMT_TILE static T shfl_up(T v, unsigned delta, SIMT_AT_LINE) {
        return simt_shfl_up(SIMT_TILE_SITE, lanes(), v, delta, (int)N);
    }
    SIMT_TILE static unsigned ballot(int p, SIMT_AT_LINE) {
        return simt_vote(SIMT_OP_BALLOT, SIMT_TILE_SITE, lanes(), !!p) >> (simt_lane() & ~(N - 1));
    }
    SIMT_TILE static int any(int p, SIMT_AT_LINE) {
        return simt_vote(SIMT_OP_ANY, SIMT_TILE_SITE, lanes(), !!p) != 0;
    }
    SIMT_TILE static int all(int p, SIMT_AT_LINE) {
        return simt_vote(SIMT_OP_ALL, SIMT_TILE_SITE, lanes(), !p) == 0;
    }
    template <class T> SIMT_TILE static unsigned match_any(T v, SIMT_AT_LINE) {
        return simt_match_any(SIMT_TILE_SITE, lanes(), v) >> (simt_lane() & ~(N - 1));
    }
#undef SIMT_TILE
};
template <unsigned N, class Parent>
SIMT_INLINE thread_block_tile<N> tiled_partition(const Parent &) {
    return thread_block_tile<N>();
}

template <class Group> SIMT_INLINE void sync(const Group &g, SIMT_AT_LINE) {
    g.sync(line);
}

template <class T> struct plus {
    T operator()(T a, T b) const {
        return a + b;
    }
};
template <class T> struct greater {
    T operator()(T a, T b) const {
        return a < b ? b : a;
    }
};
template <class T> struct less {
    T operator()(T a, T b) const {
        return b < a ? b : a;
    }
};
template <class T> struct bit_or {
    T operator()(T a, T b) const {
        return a | b;
    }
};
template <class T> struct bit_and {
    T operator()(T a, T b) const {
        return a & b;
    }
};
/* All lanes get op over the tile. The operator is not checked: lanes that call it on several lines
 * must give the same. */
template <unsigned N, class T, class Op>
SIMT_INLINE T reduce(const thread_block_tile<N> &tile, T v, Op op, SIMT_AT_LINE) {
    for (unsigned bits = N / 2; bits; bits /= 2) v = op(v, tile.shfl_xor(v, bits, line));
    return v;
}

} // namespace cooperative_groups

#endif
