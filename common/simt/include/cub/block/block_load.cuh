/* block_load.cuh: cub::BlockLoad: each thread loads ITEMS consecutive items of a block's tile (or,
 * striped, every THREADS-th one). */
#ifndef SIMT_CUB_BLOCK_LOAD_CUH
#define SIMT_CUB_BLOCK_LOAD_CUH

#include "../simt_cub.cuh"

namespace cub {

enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE, /* here the same as direct */
    BLOCK_LOAD_TRANSPOSE, /* loads striped, so that the accesses are coalesced, and exchanges */
    BLOCK_LOAD_WARP_TRANSPOSE
};

/* Items of a transposed tile pass through shared memory. */
template <class T, int ITEMS, int THREADS, bool USED> struct simt_cub_tile {
    T item[USED ? ITEMS * THREADS : 1];
};

template <class T, int X, int ITEMS, BlockLoadAlgorithm A = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1,
          int = 0>
class BlockLoad {
    enum {
        THREADS = X * Y * Z,
        TRANSPOSES = A == BLOCK_LOAD_TRANSPOSE || A == BLOCK_LOAD_WARP_TRANSPOSE
    };

  public:
    typedef simt_cub_tile<T, ITEMS, THREADS, TRANSPOSES> TempStorage;
    BlockLoad() : temp(simt_cub_private<TempStorage>()) {}
    explicit BlockLoad(TempStorage &storage) : temp(storage) {}

    template <class It> SIMT_CUB void Load(It block, T (&items)[ITEMS], SIMT_CUB_AT) {
        Guarded(block, items, ITEMS * THREADS, line);
    }
    /* Items from `valid` on are unchanged, or with a default that. */
    template <class It> SIMT_CUB void Load(It block, T (&items)[ITEMS], int valid, SIMT_CUB_AT) {
        Guarded(block, items, valid, line);
    }
    template <class It, class Default>
    SIMT_CUB void Load(It block, T (&items)[ITEMS], int valid, Default other, SIMT_CUB_AT) {
        for (T &v : items) v = other;
        Guarded(block, items, valid, line);
    }

  private:
    TempStorage &temp;

    template <class It>
    SIMT_CUB void Guarded(It block, T (&items)[ITEMS], int valid, unsigned line) {
        int rank = simt_cub_rank<X, Y>();
        bool striped = A == BLOCK_LOAD_STRIPED || TRANSPOSES;
        for (int i = 0; i < ITEMS; i++) {
            int at = striped ? i * THREADS + rank : rank * ITEMS + i;
            if (at >= valid) continue;
            if (TRANSPOSES)
                temp.item[at] = block[at];
            else
                items[i] = block[at];
        }
        if (!TRANSPOSES) return;
        simt_barrier(SIMT_CUB_SITE(6), 0, 0);
        for (int i = 0; i < ITEMS; i++)
            if (rank * ITEMS + i < valid) items[i] = temp.item[rank * ITEMS + i];
    }
};

} // namespace cub

#endif
