/* block_reduce.cuh: cub::BlockReduce: a reduction over the threads of a block. */
#ifndef SIMT_CUB_BLOCK_REDUCE_CUH
#define SIMT_CUB_BLOCK_REDUCE_CUH

#include "../warp/warp_reduce.cuh"

namespace cub {

enum BlockReduceAlgorithm {
    BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
    BLOCK_REDUCE_RAKING,
    BLOCK_REDUCE_WARP_REDUCTIONS
};

/* Results are thread 0's; another thread's are a part of the reduction. num_valid: so many of the
 * first threads have a value. All algorithms are the one by warps: each warp's first lane writes
 * its warp's result, and after a barrier thread 0 reads them in order. */
template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1,
          int = 0>
class BlockReduce {
    enum { THREADS = X * Y * Z, WARPS = (THREADS + 31) / 32 };

  public:
    struct TempStorage {
        T warp[WARPS];
    };
    BlockReduce() : temp(simt_cub_private<TempStorage>()) {}
    explicit BlockReduce(TempStorage &storage) : temp(storage) {}

    template <class Op> SIMT_CUB T Reduce(T v, Op op, SIMT_CUB_AT) {
        return All(v, op, THREADS, line);
    }
    template <class Op> SIMT_CUB T Reduce(T v, Op op, int num_valid, SIMT_CUB_AT) {
        return All(v, op, num_valid, line);
    }
    template <int ITEMS, class Op> SIMT_CUB T Reduce(T (&items)[ITEMS], Op op, SIMT_CUB_AT) {
        T v = items[0];
        for (int i = 1; i < ITEMS; i++) v = op(v, items[i]);
        return All(v, op, THREADS, line);
    }
    SIMT_CUB T Sum(T v, SIMT_CUB_AT) {
        return All(v, cub::Sum(), THREADS, line);
    }
    SIMT_CUB T Sum(T v, int num_valid, SIMT_CUB_AT) {
        return All(v, cub::Sum(), num_valid, line);
    }
    template <int ITEMS> SIMT_CUB T Sum(T (&items)[ITEMS], SIMT_CUB_AT) {
        return Reduce(items, cub::Sum(), line);
    }

  private:
    TempStorage &temp;

    template <class Op> SIMT_CUB T All(T v, Op op, int valid, unsigned line) {
        typename WarpReduce<T>::TempStorage none;
        int rank = simt_cub_rank<X, Y>(), warp = rank / 32, here = valid - 32 * warp;
        v = WarpReduce<T>(none).Reduce(v, op, here, line);
        if (rank % 32 == 0) temp.warp[warp] = v;
        simt_barrier(SIMT_CUB_SITE(4), 0, 0);
        if (rank == 0)
            for (int w = 1; w < WARPS && 32 * w < valid; w++) v = op(v, temp.warp[w]);
        return v;
    }
};

} // namespace cub

#endif
