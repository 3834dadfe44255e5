/* block_store.cuh: cub::BlockStore: each thread stores ITEMS consecutive items of a block's tile
 * (or, striped, every THREADS-th one). */
#ifndef SIMT_CUB_BLOCK_STORE_CUH
#define SIMT_CUB_BLOCK_STORE_CUH

#include "block_load.cuh"

namespace cub {

enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE, /* here the same as direct */
    BLOCK_STORE_TRANSPOSE, /* exchanges, and stores striped, so that the accesses are coalesced */
    BLOCK_STORE_WARP_TRANSPOSE
};

template <class T, int X, int ITEMS, BlockStoreAlgorithm A = BLOCK_STORE_DIRECT, int Y = 1,
          int Z = 1, int = 0>
class BlockStore {
    enum {
        THREADS = X * Y * Z,
        TRANSPOSES = A == BLOCK_STORE_TRANSPOSE || A == BLOCK_STORE_WARP_TRANSPOSE
    };

  public:
    typedef simt_cub_tile<T, ITEMS, THREADS, TRANSPOSES> TempStorage;
    BlockStore() : temp(simt_cub_private<TempStorage>()) {}
    explicit BlockStore(TempStorage &storage) : temp(storage) {}

    template <class It> SIMT_CUB void Store(It block, T (&items)[ITEMS], SIMT_CUB_AT) {
        Guarded(block, items, ITEMS * THREADS, line);
    }
    /* Only the first `valid` items of the tile. */
    template <class It> SIMT_CUB void Store(It block, T (&items)[ITEMS], int valid, SIMT_CUB_AT) {
        Guarded(block, items, valid, line);
    }

  private:
    TempStorage &temp;

    template <class It>
    SIMT_CUB void Guarded(It block, T (&items)[ITEMS], int valid, unsigned line) {
        int rank = simt_cub_rank<X, Y>();
        bool striped = A == BLOCK_STORE_STRIPED || TRANSPOSES;
        if (TRANSPOSES) {
            for (int i = 0; i < ITEMS; i++) temp.item[rank * ITEMS + i] = items[i];
            simt_barrier(SIMT_CUB_SITE(7), 0, 0);
        }
        for (int i = 0; i < ITEMS; i++) {
            int at = striped ? i * THREADS + rank : rank * ITEMS + i;
            if (at < valid) block[at] = TRANSPOSES ? temp.item[at] : items[i];
        }
    }
};

} // namespace cub

#endif
