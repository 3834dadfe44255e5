/* simt_warp.h: barriers, fences and warp operations; their rules are in simt.h. */
#ifndef SIMT_WARP_H
#define SIMT_WARP_H

#define SIMT_SITE ((unsigned)__COUNTER__ << 16 | (__LINE__ & 0xffff))

#define __syncthreads()        ((void)simt_barrier(SIMT_SITE, 0, 0))
#define __syncthreads_count(p) simt_barrier(SIMT_SITE, 1, !!(p))
#define __syncthreads_and(p)   simt_barrier(SIMT_SITE, 2, !!(p))
#define __syncthreads_or(p)    simt_barrier(SIMT_SITE, 3, !!(p))
#define __threadfence()        simt_fence()
#define __threadfence_system() simt_fence()
#define __threadfence_block()  simt_fence_block()
#define __activemask()         simt_active_mask()

/* An object, so that the mask stays optional: __syncwarp() and __syncwarp(mask). */
struct simt_syncwarp_at {
    unsigned site;
    __attribute__((always_inline)) void operator()(uint32_t mask = 0xffffffffu) const {
        simt_syncwarp(mask, site);
    }
};
#define __syncwarp                                                                                 \
    simt_syncwarp_at {                                                                             \
        SIMT_SITE                                                                                  \
    }

template <class T> SIMT_INLINE uint64_t simt_to_bits(T v) {
    static_assert(sizeof(T) <= 8, "a warp operation moves at most 8 bytes a lane");
    uint64_t u = 0;
    __builtin_memcpy(&u, &v, sizeof v);
    return u;
}
template <class T> SIMT_INLINE T simt_from_bits(uint64_t u) {
    T v;
    __builtin_memcpy((void *)&v, &u, sizeof v);
    return v;
}
template <class T> constexpr unsigned simt_wide() {
    return sizeof(T) > 4 ? SIMT_WIDE : 0;
}
template <class T>
SIMT_INLINE T simt_shuffle(enum simt_warp_op op, unsigned site, uint32_t mask, T v, unsigned lane) {
    return simt_from_bits<T>(simt_warp_op(op, mask, simt_to_bits(v), lane | simt_wide<T>(), site));
}
template <class T>
SIMT_INLINE T simt_shfl_idx(unsigned site, uint32_t mask, T v, int source, int width = 32) {
    unsigned lane = simt_lane(), w = (unsigned)width - 1;
    return simt_shuffle(SIMT_OP_SHUFFLE, site, mask, v, (lane & ~w) | ((unsigned)source & w));
}
template <class T>
SIMT_INLINE T simt_shfl_xor(unsigned site, uint32_t mask, T v, int bits, int width = 32) {
    unsigned lane = simt_lane(), to = lane ^ (unsigned)bits, w = ~((unsigned)width - 1);
    return simt_shuffle(SIMT_OP_SHUFFLE_XOR, site, mask, v, (to & w) > (lane & w) ? lane : to);
}
template <class T>
SIMT_INLINE T simt_shfl_down(unsigned site, uint32_t mask, T v, unsigned delta, int width = 32) {
    unsigned lane = simt_lane(), w = (unsigned)width - 1;
    return simt_shuffle(SIMT_OP_SHUFFLE_DOWN, site, mask, v,
                        ((lane & w) + delta > w ? lane : lane + delta) | SIMT_MAYBE_ABSENT);
}
template <class T>
SIMT_INLINE T simt_shfl_up(unsigned site, uint32_t mask, T v, unsigned delta, int width = 32) {
    unsigned lane = simt_lane(), w = (unsigned)width - 1;
    return simt_shuffle(SIMT_OP_SHUFFLE_UP, site, mask, v,
                        ((lane & w) < delta ? lane : lane - delta) | SIMT_MAYBE_ABSENT);
}
#define __shfl_sync(...)      simt_shfl_idx(SIMT_SITE, __VA_ARGS__)
#define __shfl_xor_sync(...)  simt_shfl_xor(SIMT_SITE, __VA_ARGS__)
#define __shfl_down_sync(...) simt_shfl_down(SIMT_SITE, __VA_ARGS__)
#define __shfl_up_sync(...)   simt_shfl_up(SIMT_SITE, __VA_ARGS__)

SIMT_INLINE unsigned simt_vote(enum simt_warp_op op, unsigned site, uint32_t mask, int p) {
    return (unsigned)simt_warp_op(op, mask, (uint64_t)p, 0, site);
}
#define __ballot_sync(m, p) simt_vote(SIMT_OP_BALLOT, SIMT_SITE, (m), !!(p))
#define __any_sync(m, p)    (int)(simt_vote(SIMT_OP_ANY, SIMT_SITE, (m), !!(p)) != 0)
#define __all_sync(m, p)    (int)(simt_vote(SIMT_OP_ALL, SIMT_SITE, (m), !(p)) == 0)
#define __uni_sync(m, p)    (int)(simt_vote(SIMT_OP_UNI, SIMT_SITE, (m), !!(p)) != 0)

template <class T> SIMT_INLINE unsigned simt_match_any(unsigned site, uint32_t mask, T v) {
    return (unsigned)simt_warp_op(SIMT_OP_MATCH_ANY, mask, simt_to_bits(v), simt_wide<T>(), site);
}
template <class T>
SIMT_INLINE unsigned simt_match_all(unsigned site, uint32_t mask, T v, int *same) {
    unsigned m =
        (unsigned)simt_warp_op(SIMT_OP_MATCH_ALL, mask, simt_to_bits(v), simt_wide<T>(), site);
    *same = m != 0;
    return m;
}
#define __match_any_sync(m, v)    simt_match_any(SIMT_SITE, (m), (v))
#define __match_all_sync(m, v, p) simt_match_all(SIMT_SITE, (m), (v), (p))

SIMT_INLINE int simt_reduce(enum simt_warp_op op, unsigned site, uint32_t mask, int v) {
    return (int)simt_warp_op(op, mask, (uint64_t)(int64_t)v, 0, site);
}
SIMT_INLINE unsigned simt_reduce(enum simt_warp_op op, unsigned site, uint32_t mask, unsigned v) {
    op = op == SIMT_OP_MIN ? SIMT_OP_UMIN : op == SIMT_OP_MAX ? SIMT_OP_UMAX : op;
    return (unsigned)simt_warp_op(op, mask, v, 0, site);
}
#define __reduce_add_sync(m, v) simt_reduce(SIMT_OP_ADD, SIMT_SITE, (m), (v))
#define __reduce_min_sync(m, v) simt_reduce(SIMT_OP_MIN, SIMT_SITE, (m), (v))
#define __reduce_max_sync(m, v) simt_reduce(SIMT_OP_MAX, SIMT_SITE, (m), (v))
#define __reduce_and_sync(m, v) simt_reduce(SIMT_OP_AND, SIMT_SITE, (m), (v))
#define __reduce_or_sync(m, v)  simt_reduce(SIMT_OP_OR, SIMT_SITE, (m), (v))
#define __reduce_xor_sync(m, v) simt_reduce(SIMT_OP_XOR, SIMT_SITE, (m), (v))

#endif
