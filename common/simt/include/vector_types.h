/* vector_types.h: the vector types (int2, float4 ...) and dim3.
 *
 * In C++ a vector of 2, 4, 8 or 16 bytes carries a member of the compiler's own vector type and
 * copies through it, so that `float4 v = *p` is one access, as ld.global.v4 is on a GPU. In C they
 * are plain structures of the same layout.
 */
#ifndef SIMT_VECTOR_TYPES_H
#define SIMT_VECTOR_TYPES_H

#include "simt_abi.h"

typedef unsigned char simt_uchar;
typedef unsigned short simt_ushort;
typedef unsigned long simt_ulong;
typedef signed char simt_schar;
typedef long long simt_longlong;
typedef unsigned long long simt_ulonglong;

#ifdef __cplusplus

#define SIMT_VECTOR1(N, T)                                                                         \
    struct N##1 {                                                                                  \
        T x;                                                                                       \
    };                                                                                             \
    static inline N##1 make_##N##1(T x) {                                                          \
        N##1 r;                                                                                    \
        r.x = x;                                                                                   \
        return r;                                                                                  \
    }
#define SIMT_VECTOR2(N, T)                                                                         \
    struct alignas(2 * sizeof(T)) N##2 {                                                           \
        typedef T simt_v __attribute__((vector_size(2 * sizeof(T)), may_alias));                   \
        union {                                                                                    \
            struct {                                                                               \
                T x, y;                                                                            \
            };                                                                                     \
            simt_v all;                                                                            \
        };                                                                                         \
        N##2() = default;                                                                          \
        constexpr N##2(T a, T b) : x(a), y(b) {}                                                   \
        N##2(const N##2 & o) : all(o.all) {}                                                       \
        N##2 &operator=(const N##2 & o) {                                                          \
            all = o.all;                                                                           \
            return *this;                                                                          \
        }                                                                                          \
    };                                                                                             \
    static inline N##2 make_##N##2(T x, T y) {                                                     \
        return N##2(x, y);                                                                         \
    }
#define SIMT_VECTOR3(N, T)                                                                         \
    struct N##3 {                                                                                  \
        T x, y, z;                                                                                 \
    };                                                                                             \
    static inline N##3 make_##N##3(T x, T y, T z) {                                                \
        N##3 r;                                                                                    \
        r.x = x, r.y = y, r.z = z;                                                                 \
        return r;                                                                                  \
    }
#define SIMT_VECTOR4(N, T)                                                                         \
    struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) N##4 {                                 \
        typedef T simt_v __attribute__((vector_size(4 * sizeof(T)), may_alias));                   \
        union {                                                                                    \
            struct {                                                                               \
                T x, y, z, w;                                                                      \
            };                                                                                     \
            simt_v all;                                                                            \
        };                                                                                         \
        N##4() = default;                                                                          \
        constexpr N##4(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}                             \
        N##4(const N##4 & o) : all(o.all) {}                                                       \
        N##4 &operator=(const N##4 & o) {                                                          \
            all = o.all;                                                                           \
            return *this;                                                                          \
        }                                                                                          \
    };                                                                                             \
    static inline N##4 make_##N##4(T x, T y, T z, T w) {                                           \
        return N##4(x, y, z, w);                                                                   \
    }
/* 32-byte ones are two accesses on a GPU too: plain members. */
#define SIMT_VECTOR4_PLAIN(N, T)                                                                   \
    struct alignas(16) N##4 {                                                                      \
        T x, y, z, w;                                                                              \
    };                                                                                             \
    static inline N##4 make_##N##4(T x, T y, T z, T w) {                                           \
        N##4 r;                                                                                    \
        r.x = x, r.y = y, r.z = z, r.w = w;                                                        \
        return r;                                                                                  \
    }

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
    constexpr dim3(simt_u3 u) : x(u.x), y(u.y), z(u.z) {}
    operator simt_u3() const {
        simt_u3 u = {x, y, z};
        return u;
    }
};

#else /* C */

#define SIMT_VECTOR1(N, T)                                                                         \
    typedef struct {                                                                               \
        T x;                                                                                       \
    } N##1;
#define SIMT_VECTOR2(N, T)                                                                         \
    typedef struct {                                                                               \
        T x, y;                                                                                    \
    } __attribute__((aligned(2 * sizeof(T)))) N##2;
#define SIMT_VECTOR3(N, T)                                                                         \
    typedef struct {                                                                               \
        T x, y, z;                                                                                 \
    } N##3;
#define SIMT_VECTOR4(N, T)                                                                         \
    typedef struct {                                                                               \
        T x, y, z, w;                                                                              \
    } __attribute__((aligned(4 * sizeof(T)))) N##4;
#define SIMT_VECTOR4_PLAIN(N, T)                                                                   \
    typedef struct {                                                                               \
        T x, y, z, w;                                                                              \
    } __attribute__((aligned(16))) N##4;

struct dim3 {
    unsigned x, y, z;
};
typedef struct dim3 dim3;

#endif

#define SIMT_VECTORS(N, T)                                                                         \
    SIMT_VECTOR1(N, T) SIMT_VECTOR2(N, T) SIMT_VECTOR3(N, T) SIMT_VECTOR4(N, T)
SIMT_VECTORS(char, simt_schar)
SIMT_VECTORS(uchar, simt_uchar)
SIMT_VECTORS(short, short)
SIMT_VECTORS(ushort, simt_ushort)
SIMT_VECTORS(int, int)
SIMT_VECTOR1(uint, unsigned)
SIMT_VECTOR2(uint, unsigned)
SIMT_VECTOR4(uint, unsigned)
SIMT_VECTORS(float, float)
SIMT_VECTOR1(long, long)
SIMT_VECTOR2(long, long)
SIMT_VECTOR3(long, long)
SIMT_VECTOR4_PLAIN(long, long)
SIMT_VECTOR1(ulong, simt_ulong)
SIMT_VECTOR2(ulong, simt_ulong)
SIMT_VECTOR3(ulong, simt_ulong)
SIMT_VECTOR4_PLAIN(ulong, simt_ulong)
SIMT_VECTOR1(longlong, simt_longlong)
SIMT_VECTOR2(longlong, simt_longlong)
SIMT_VECTOR3(longlong, simt_longlong)
SIMT_VECTOR4_PLAIN(longlong, simt_longlong)
SIMT_VECTOR1(ulonglong, simt_ulonglong)
SIMT_VECTOR2(ulonglong, simt_ulonglong)
SIMT_VECTOR3(ulonglong, simt_ulonglong)
SIMT_VECTOR4_PLAIN(ulonglong, simt_ulonglong)
SIMT_VECTOR1(double, double)
SIMT_VECTOR2(double, double)
SIMT_VECTOR3(double, double)
SIMT_VECTOR4_PLAIN(double, double)

typedef simt_u3 uint3;
#ifdef __cplusplus
static inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) {
    uint3 r = {x, y, z};
    return r;
}
#endif

#endif
