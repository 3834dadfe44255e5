/* warp_reduce.cuh: cub::WarpReduce: a reduction over the threads of a warp, or of a part of one. */
#ifndef SIMT_CUB_WARP_REDUCE_CUH
#define SIMT_CUB_WARP_REDUCE_CUH

#include "../simt_cub.cuh"

namespace cub {

/* Results are those of the logical warp's first lane; another lane's are a part of the reduction.
 * valid_items: so many of the first lanes have a value. */
template <class T, int N = 32, int = 0> class WarpReduce {
  public:
    SIMT_CUB_NO_TEMPORARIES;
    explicit WarpReduce(TempStorage &) {}

    template <class Op> SIMT_CUB T Reduce(T v, Op op, SIMT_CUB_AT) {
        return Tree(v, op, N, line);
    }
    template <class Op> SIMT_CUB T Reduce(T v, Op op, int valid_items, SIMT_CUB_AT) {
        return Tree(v, op, valid_items, line);
    }
    SIMT_CUB T Sum(T v, SIMT_CUB_AT) {
        return Tree(v, cub::Sum(), N, line);
    }
    SIMT_CUB T Sum(T v, int valid_items, SIMT_CUB_AT) {
        return Tree(v, cub::Sum(), valid_items, line);
    }
    /* Segments begin where head_flag is set; the result is that of a segment's first lane. */
    template <class Flag, class Op>
    SIMT_CUB T HeadSegmentedReduce(T v, Flag head_flag, Op op, SIMT_CUB_AT) {
        unsigned heads = Flags(head_flag, line) >> 1; /* bit i: a head follows lane i */
        return Segment(v, op, heads, line);
    }
    template <class Flag> SIMT_CUB T HeadSegmentedSum(T v, Flag head_flag, SIMT_CUB_AT) {
        return HeadSegmentedReduce(v, head_flag, cub::Sum(), line);
    }
    /* Segments end where tail_flag is set. */
    template <class Flag, class Op>
    SIMT_CUB T TailSegmentedReduce(T v, Flag tail_flag, Op op, SIMT_CUB_AT) {
        return Segment(v, op, Flags(tail_flag, line), line);
    }
    template <class Flag> SIMT_CUB T TailSegmentedSum(T v, Flag tail_flag, SIMT_CUB_AT) {
        return TailSegmentedReduce(v, tail_flag, cub::Sum(), line);
    }

  private:
    template <class Op> SIMT_CUB static T Tree(T v, Op op, int valid, unsigned line) {
        int lane = (int)(simt_lane() % N);
        for (int delta = 1; delta < N; delta *= 2) {
            T other = simt_cub_down<N>(v, delta, line);
            if (lane + delta < valid) v = op(v, other);
        }
        return v;
    }
    SIMT_CUB static unsigned Flags(bool flag, unsigned line) {
        return simt_vote(SIMT_OP_BALLOT, SIMT_CUB_SITE(3), simt_cub_lanes<N>(), flag) >>
               (simt_lane() & ~(unsigned)(N - 1));
    }
    /* Bit i of ends: lane i is the last of its segment. */
    template <class Op> SIMT_CUB static T Segment(T v, Op op, unsigned ends, unsigned line) {
        int lane = (int)(simt_lane() % N), last = lane;
        while (last < N - 1 && !(ends >> last & 1)) last++;
        for (int delta = 1; delta < N; delta *= 2) {
            T other = simt_cub_down<N>(v, delta, line);
            if (lane + delta <= last) v = op(v, other);
        }
        return v;
    }
};

} // namespace cub

#endif
