/* block_scan.cuh: cub::BlockScan: a prefix scan over the threads of a block. */
#ifndef SIMT_CUB_BLOCK_SCAN_CUH
#define SIMT_CUB_BLOCK_SCAN_CUH

#include "../warp/warp_scan.cuh"

namespace cub {

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

/* Each function scans one item a thread, or ITEMS consecutive ones. block_aggregate: the reduction
 * of all items, in every thread. An exclusive scan without an initial value leaves thread 0's
 * result undefined, as CUB's does. All algorithms are the one by warps. Absent: prefix callbacks.
 */
template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan {
    enum { THREADS = X * Y * Z, WARPS = (THREADS + 31) / 32 };

  public:
    struct TempStorage {
        T warp[WARPS];
    };
    BlockScan() : temp(simt_cub_private<TempStorage>()) {}
    explicit BlockScan(TempStorage &storage) : temp(storage) {}

    /* ---- one item a thread */
    template <class Op> SIMT_CUB void InclusiveScan(T in, T &out, Op op, SIMT_CUB_AT) {
        T aggregate, before;
        Threads(in, before, aggregate, op, line);
        out = simt_cub_rank<X, Y>() ? op(before, in) : in;
    }
    template <class Op>
    SIMT_CUB void InclusiveScan(T in, T &out, Op op, T &block_aggregate, SIMT_CUB_AT) {
        T before;
        Threads(in, before, block_aggregate, op, line);
        out = simt_cub_rank<X, Y>() ? op(before, in) : in;
    }
    template <class Op> SIMT_CUB void ExclusiveScan(T in, T &out, Op op, SIMT_CUB_AT) {
        T aggregate;
        Threads(in, out, aggregate, op, line);
    }
    template <class Op> SIMT_CUB void ExclusiveScan(T in, T &out, T initial, Op op, SIMT_CUB_AT) {
        T aggregate;
        ExclusiveScan(in, out, initial, op, aggregate, line);
    }
    template <class Op>
    SIMT_CUB void ExclusiveScan(T in, T &out, T initial, Op op, T &block_aggregate, SIMT_CUB_AT) {
        T before;
        Threads(in, before, block_aggregate, op, line);
        out = simt_cub_rank<X, Y>() ? op(initial, before) : initial;
    }
    SIMT_CUB void InclusiveSum(T in, T &out, SIMT_CUB_AT) {
        InclusiveScan(in, out, cub::Sum(), line);
    }
    SIMT_CUB void InclusiveSum(T in, T &out, T &block_aggregate, SIMT_CUB_AT) {
        InclusiveScan(in, out, cub::Sum(), block_aggregate, line);
    }
    SIMT_CUB void ExclusiveSum(T in, T &out, SIMT_CUB_AT) {
        ExclusiveScan(in, out, T(), cub::Sum(), line);
    }
    SIMT_CUB void ExclusiveSum(T in, T &out, T &block_aggregate, SIMT_CUB_AT) {
        ExclusiveScan(in, out, T(), cub::Sum(), block_aggregate, line);
    }

    /* ---- ITEMS items a thread */
    template <int ITEMS, class Op>
    SIMT_CUB void InclusiveScan(T (&in)[ITEMS], T (&out)[ITEMS], Op op, SIMT_CUB_AT) {
        T aggregate;
        InclusiveScan(in, out, op, aggregate, line);
    }
    template <int ITEMS, class Op>
    SIMT_CUB void InclusiveScan(T (&in)[ITEMS], T (&out)[ITEMS], Op op, T &block_aggregate,
                                SIMT_CUB_AT) {
        T before;
        Threads(Total(in, op), before, block_aggregate, op, line);
        T v = simt_cub_rank<X, Y>() ? op(before, in[0]) : in[0];
        for (int i = 1; i < ITEMS; i++) {
            T next = op(v, in[i]);
            out[i - 1] = v;
            v = next;
        }
        out[ITEMS - 1] = v;
    }
    template <int ITEMS, class Op>
    SIMT_CUB void ExclusiveScan(T (&in)[ITEMS], T (&out)[ITEMS], T initial, Op op, SIMT_CUB_AT) {
        T aggregate;
        ExclusiveScan(in, out, initial, op, aggregate, line);
    }
    template <int ITEMS, class Op>
    SIMT_CUB void ExclusiveScan(T (&in)[ITEMS], T (&out)[ITEMS], T initial, Op op,
                                T &block_aggregate, SIMT_CUB_AT) {
        T before;
        Threads(Total(in, op), before, block_aggregate, op, line);
        Follow(in, out, simt_cub_rank<X, Y>() ? op(initial, before) : initial, op);
    }
    template <int ITEMS> SIMT_CUB void InclusiveSum(T (&in)[ITEMS], T (&out)[ITEMS], SIMT_CUB_AT) {
        InclusiveScan(in, out, cub::Sum(), line);
    }
    template <int ITEMS>
    SIMT_CUB void InclusiveSum(T (&in)[ITEMS], T (&out)[ITEMS], T &block_aggregate, SIMT_CUB_AT) {
        InclusiveScan(in, out, cub::Sum(), block_aggregate, line);
    }
    template <int ITEMS> SIMT_CUB void ExclusiveSum(T (&in)[ITEMS], T (&out)[ITEMS], SIMT_CUB_AT) {
        ExclusiveScan(in, out, T(), cub::Sum(), line);
    }
    template <int ITEMS>
    SIMT_CUB void ExclusiveSum(T (&in)[ITEMS], T (&out)[ITEMS], T &block_aggregate, SIMT_CUB_AT) {
        ExclusiveScan(in, out, T(), cub::Sum(), block_aggregate, line);
    }

  private:
    TempStorage &temp;

    /* before: the reduction of the threads before this one; thread 0's is undefined. */
    template <class Op> SIMT_CUB void Threads(T in, T &before, T &aggregate, Op op, unsigned line) {
        typename WarpScan<T>::TempStorage none;
        int rank = simt_cub_rank<X, Y>(), warp = rank / 32;
        T inclusive, whole;
        WarpScan<T>(none).Scan(in, inclusive, before, op, line);
        if (rank % 32 == 31 || rank == THREADS - 1) temp.warp[warp] = inclusive;
        simt_barrier(SIMT_CUB_SITE(5), 0, 0);
        whole = temp.warp[0];
        for (int w = 1; w < WARPS; w++) {
            if (w == warp) before = rank % 32 ? op(whole, before) : whole;
            whole = op(whole, temp.warp[w]);
        }
        aggregate = whole;
    }
    template <int ITEMS, class Op> SIMT_CUB static T Total(T (&in)[ITEMS], Op op) {
        T v = in[0];
        for (int i = 1; i < ITEMS; i++) v = op(v, in[i]);
        return v;
    }
    /* out[i]: v, then v and in[0], ...; `in` and `out` may be one array. */
    template <int ITEMS, class Op>
    SIMT_CUB static void Follow(T (&in)[ITEMS], T (&out)[ITEMS], T v, Op op) {
        for (int i = 0; i < ITEMS; i++) {
            T next = op(v, in[i]);
            out[i] = v;
            v = next;
        }
    }
};

} // namespace cub

#endif
