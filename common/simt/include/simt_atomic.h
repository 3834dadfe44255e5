/* simt_atomic.h: the atomics (atomicAdd ...), as relaxed read-modify-writes.
 *
 * Check mode has one OS thread. There the runtime reads, checks, counts and writes; what is
 * computed between, on values, is a number's arithmetic and no code of the kernel's.
 */
#ifndef SIMT_ATOMIC_H
#define SIMT_ATOMIC_H

template <class T> struct simt_same { typedef T type; };
template <size_t N> struct simt_word;
template <> struct simt_word<1> { typedef uint8_t type; };
template <> struct simt_word<2> { typedef uint16_t type; };
template <> struct simt_word<4> { typedef uint32_t type; };
template <> struct simt_word<8> { typedef uint64_t type; };

struct __half;
struct __half2;
struct __nv_bfloat16;
struct __nv_bfloat162;
/* What an atomic may change: a number, or a type of CUDA's that is one. */
template <class T> struct simt_is_number {
    enum { value = std::is_arithmetic<T>::value || std::is_enum<T>::value };
};
template <class T> struct simt_is_number<T *> {
    enum { value = 1 };
};
template <> struct simt_is_number<__half> {
    enum { value = 1 };
};
template <> struct simt_is_number<__half2> {
    enum { value = 1 };
};
template <> struct simt_is_number<__nv_bfloat16> {
    enum { value = 1 };
};
template <> struct simt_is_number<__nv_bfloat162> {
    enum { value = 1 };
};

#ifdef SIMT_CHECK
template <class T, class F> SIMT_INLINE T simt_swap_in(T *p, F f) {
    uint64_t seen = simt_atomic_load((const void *)p, sizeof(T)), put = 0;
    T old, now;
    __builtin_memcpy((void *)&old, (const void *)&seen, sizeof old);
    now = f(old);
    __builtin_memcpy((void *)&put, (const void *)&now, sizeof now);
    simt_atomic_store((void *)p, sizeof(T), put);
    return old;
}
#else
template <class T, class F> SIMT_INLINE T simt_swap_in(T *p, F f) {
    typedef typename simt_word<sizeof(T)>::type W;
    W seen = __atomic_load_n((W *)p, __ATOMIC_RELAXED), put;
    T old, now;
    do {
        __builtin_memcpy((void *)&old, &seen, sizeof old);
        now = f(old);
        __builtin_memcpy(&put, (const void *)&now, sizeof put);
    } while (!__atomic_compare_exchange_n((W *)p, &seen, put, false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    return old;
}
#endif
#define SIMT_RMW(T, p, expr)                                                                       \
    static_assert(simt_is_number<T>::value && sizeof(T) <= 8,                                      \
                  "an atomic changes a number of at most 8 bytes");                                \
    return simt_swap_in((T *)(p), [=](T old) -> T { return (T)(expr); })

#define SIMT_ATOMIC(name, expr)                                                                    \
    template <class T> SIMT_INLINE T name(T *p, typename simt_same<T>::type v) {                   \
        SIMT_RMW(T, p, expr);                                                                      \
    }                                                                                              \
    template <class T> SIMT_INLINE T name##_block(T *p, typename simt_same<T>::type v) {           \
        SIMT_RMW(T, p, expr);                                                                      \
    }                                                                                              \
    template <class T> SIMT_INLINE T name##_system(T *p, typename simt_same<T>::type v) {          \
        SIMT_RMW(T, p, expr);                                                                      \
    }
SIMT_ATOMIC(atomicAdd, old + v)
SIMT_ATOMIC(atomicSub, old - v)
SIMT_ATOMIC(atomicMax, old < v ? v : old)
SIMT_ATOMIC(atomicMin, v < old ? v : old)
SIMT_ATOMIC(atomicExch, ((void)old, v))
SIMT_ATOMIC(atomicAnd, old &v)
SIMT_ATOMIC(atomicOr, old | v)
SIMT_ATOMIC(atomicXor, old ^ v)
SIMT_ATOMIC(atomicInc, old >= v ? 0 : old + 1)
SIMT_ATOMIC(atomicDec, old == 0 || old > v ? v : old - 1)
template <class T>
SIMT_INLINE T atomicCAS(T *p, typename simt_same<T>::type compare, typename simt_same<T>::type v) {
    SIMT_RMW(T, p, old == compare ? v : old);
}
template <class T>
SIMT_INLINE T atomicCAS_block(T *p, typename simt_same<T>::type compare,
                              typename simt_same<T>::type v) {
    SIMT_RMW(T, p, old == compare ? v : old);
}

#endif
