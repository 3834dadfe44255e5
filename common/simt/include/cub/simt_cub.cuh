/* simt_cub.cuh: what CUB's primitives share: operators, and shuffles of values of any size. */
#ifndef SIMT_CUB_SIMT_CUB_CUH
#define SIMT_CUB_SIMT_CUB_CUH

#include <cuda_runtime.h>

namespace cub {

struct Sum {
    template <class T> T operator()(const T &a, const T &b) const {
        return a + b;
    }
};
struct Difference {
    template <class T> T operator()(const T &a, const T &b) const {
        return a - b;
    }
};
struct Max {
    template <class T> T operator()(const T &a, const T &b) const {
        return a < b ? b : a;
    }
};
struct Min {
    template <class T> T operator()(const T &a, const T &b) const {
        return b < a ? b : a;
    }
};
struct Equality {
    template <class T> bool operator()(const T &a, const T &b) const {
        return a == b;
    }
};
struct Inequality {
    template <class T> bool operator()(const T &a, const T &b) const {
        return a != b;
    }
};
template <class K, class V> struct KeyValuePair {
    typedef K Key;
    typedef V Value;
    K key;
    V value;
};
/* The pair of the greater value; of equal ones that of the smaller key. */
struct ArgMax {
    template <class K, class V>
    KeyValuePair<K, V> operator()(const KeyValuePair<K, V> &a, const KeyValuePair<K, V> &b) const {
        return a.value < b.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};
struct ArgMin {
    template <class K, class V>
    KeyValuePair<K, V> operator()(const KeyValuePair<K, V> &a, const KeyValuePair<K, V> &b) const {
        return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};

SIMT_INLINE unsigned LaneId() {
    return simt_lane();
}
SIMT_INLINE unsigned WarpId() {
    return simt_thread_rank() / 32;
}

/* The barriers and warp operations of one call of a primitive are those of its line: two calls on
 * two branches are two barriers. */
#define SIMT_CUB_AT      unsigned line = (unsigned)__builtin_LINE()
#define SIMT_CUB         __attribute__((always_inline))
#define SIMT_CUB_SITE(n) (0xffe00000u | (unsigned)(n) << 16 | (line & 0xffff))
#define SIMT_CUB_NO_TEMPORARIES                                                                    \
    struct TempStorage {}

/* Lanes of this thread's logical warp. */
template <int N> SIMT_INLINE unsigned simt_cub_lanes() {
    static_assert(N >= 1 && N <= 32 && (N & (N - 1)) == 0,
                  "a logical warp has 1 to 32 threads, a power of 2");
    return N == 32 ? 0xffffffffu : ((1u << N % 32) - 1) << (simt_lane() & ~(unsigned)(N - 1));
}

/* Moves T in pieces that a shuffle takes: f(piece) for each. */
template <class T, class F> SIMT_INLINE T simt_cub_move(const T &v, F f) {
    typedef typename std::conditional<sizeof(T) % 4 == 0, uint32_t, uint8_t>::type piece;
    piece from[sizeof(T) / sizeof(piece)];
    T to;
    memcpy(from, (const void *)&v, sizeof v);
    for (piece &p : from) p = f(p);
    memcpy((void *)&to, from, sizeof to);
    return to;
}
/* A lane that doesn't exist is not asked: a block's last warp may be a part of one. */
template <int N, class T> SIMT_INLINE T simt_cub_down(const T &v, int delta, SIMT_CUB_AT) {
    unsigned lanes = simt_cub_lanes<N>(), lane = simt_lane(), to = lane + (unsigned)delta;
    unsigned there = blockDim.x * blockDim.y * blockDim.z - (simt_thread_rank() & ~31u);
    if (lane % N + (unsigned)delta >= N || to >= there) to = lane;
    return simt_cub_move(v, [=](auto p) {
        return simt_shuffle(SIMT_OP_SHUFFLE_DOWN, SIMT_CUB_SITE(0), lanes, p, to,
                            SIMT_MAYBE_ABSENT);
    });
}
template <int N, class T> SIMT_INLINE T simt_cub_up(const T &v, int delta, SIMT_CUB_AT) {
    unsigned lanes = simt_cub_lanes<N>();
    return simt_cub_move(
        v, [=](auto p) { return simt_shfl_up(SIMT_CUB_SITE(1), lanes, p, (unsigned)delta, N); });
}
template <int N, class T> SIMT_INLINE T simt_cub_from(const T &v, int lane, SIMT_CUB_AT) {
    unsigned lanes = simt_cub_lanes<N>();
    return simt_cub_move(
        v, [=](auto p) { return simt_shfl_idx(SIMT_CUB_SITE(2), lanes, p, lane, N); });
}

/* The shared memory of a primitive that was made without TempStorage. */
template <class Storage> SIMT_INLINE Storage &simt_cub_private() {
    static simt_shared_var var = {0, "cub's own temporary storage"};
    return *(Storage *)simt_shared(&var, sizeof(Storage), alignof(Storage));
}

template <int X, int Y> SIMT_INLINE int simt_cub_rank() {
    return (int)(threadIdx.x + X * (threadIdx.y + Y * threadIdx.z));
}

} // namespace cub

#endif
