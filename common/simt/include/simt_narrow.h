/* simt_narrow.h: what __half and __nv_bfloat16 share: conversions, operators, pairs.
 *
 * Bits are moved by integers, so that results are the same on every processor.
 */
#ifndef SIMT_NARROW_H
#define SIMT_NARROW_H

#define SIMT_MEMBER inline __attribute__((always_inline))

SIMT_INLINE float simt_bf16_to_float(uint16_t b) {
    return __uint_as_float((uint32_t)b << 16);
}
SIMT_INLINE uint16_t simt_bf16_from_float(float f) {
    uint32_t u = __float_as_uint(f);
    if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fff; /* every NaN becomes this one */
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

SIMT_INLINE float simt_half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = h & 0x7fffu;
    if (rest >= 0x7c00u) return __uint_as_float(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    /* the exponent moves by a power of two, which also normalises subnormals */
    float f = __uint_as_float(rest << 13) * 0x1p112f;
    return __uint_as_float(sign | __float_as_uint(f));
}
SIMT_INLINE uint16_t simt_half_from_float(float f) {
    uint32_t u = __float_as_uint(f), sign = u >> 16 & 0x8000u;
    u &= 0x7fffffffu;
    if (u > 0x7f800000u) return 0x7fff;
    if (u >= 0x47800000u) return (uint16_t)(sign | 0x7c00u); /* 65536 and above */
    if (u < 0x38800000u) { /* subnormal: adding 0.5 rounds at 2^-24 */
        float r = __uint_as_float(u) + 0.5f;
        return (uint16_t)(sign | (__float_as_uint(r) - 0x3f000000u));
    }
    u += 0xfffu + (u >> 13 & 1);
    return (uint16_t)(sign | (u - 0x38000000u) >> 13); /* a carry into the exponent is right */
}

/* Comparisons and arithmetic in float, rounded once. Named functions as in the toolkit's headers.
 */
#define SIMT_NARROW_OPERATORS(T)                                                                   \
    SIMT_INLINE T operator+(T a, T b) {                                                            \
        return T((float)a + (float)b);                                                             \
    }                                                                                              \
    SIMT_INLINE T operator-(T a, T b) {                                                            \
        return T((float)a - (float)b);                                                             \
    }                                                                                              \
    SIMT_INLINE T operator*(T a, T b) {                                                            \
        return T((float)a * (float)b);                                                             \
    }                                                                                              \
    SIMT_INLINE T operator/(T a, T b) {                                                            \
        return T((float)a / (float)b);                                                             \
    }                                                                                              \
    SIMT_INLINE T operator-(T a) {                                                                 \
        return T(-(float)a);                                                                       \
    }                                                                                              \
    SIMT_INLINE T &operator+=(T &a, T b) {                                                         \
        return a = a + b;                                                                          \
    }                                                                                              \
    SIMT_INLINE T &operator-=(T &a, T b) {                                                         \
        return a = a - b;                                                                          \
    }                                                                                              \
    SIMT_INLINE T &operator*=(T &a, T b) {                                                         \
        return a = a * b;                                                                          \
    }                                                                                              \
    SIMT_INLINE T &operator/=(T &a, T b) {                                                         \
        return a = a / b;                                                                          \
    }                                                                                              \
    SIMT_INLINE bool operator==(T a, T b) {                                                        \
        return (float)a == (float)b;                                                               \
    }                                                                                              \
    SIMT_INLINE bool operator!=(T a, T b) {                                                        \
        return (float)a != (float)b;                                                               \
    }                                                                                              \
    SIMT_INLINE bool operator<(T a, T b) {                                                         \
        return (float)a < (float)b;                                                                \
    }                                                                                              \
    SIMT_INLINE bool operator>(T a, T b) {                                                         \
        return (float)a > (float)b;                                                                \
    }                                                                                              \
    SIMT_INLINE bool operator<=(T a, T b) {                                                        \
        return (float)a <= (float)b;                                                               \
    }                                                                                              \
    SIMT_INLINE bool operator>=(T a, T b) {                                                        \
        return (float)a >= (float)b;                                                               \
    }                                                                                              \
    SIMT_INLINE T __hadd(T a, T b) {                                                               \
        return a + b;                                                                              \
    }                                                                                              \
    SIMT_INLINE T __hsub(T a, T b) {                                                               \
        return a - b;                                                                              \
    }                                                                                              \
    SIMT_INLINE T __hmul(T a, T b) {                                                               \
        return a * b;                                                                              \
    }                                                                                              \
    SIMT_INLINE T __hdiv(T a, T b) {                                                               \
        return a / b;                                                                              \
    }                                                                                              \
    SIMT_INLINE T __hneg(T a) {                                                                    \
        return -a;                                                                                 \
    }                                                                                              \
    SIMT_INLINE T __habs(T a) {                                                                    \
        return T(__builtin_fabsf((float)a));                                                       \
    }                                                                                              \
    SIMT_INLINE T __hfma(T a, T b, T c) { /* exact in double, rounded twice only for ties */       \
        return T((float)((double)(float)a * (double)(float)b + (double)(float)c));                 \
    }                                                                                              \
    SIMT_INLINE T __hmax(T a, T b) {                                                               \
        return T(max((float)a, (float)b));                                                         \
    }                                                                                              \
    SIMT_INLINE T __hmin(T a, T b) {                                                               \
        return T(min((float)a, (float)b));                                                         \
    }                                                                                              \
    SIMT_INLINE bool __hisnan(T a) {                                                               \
        return __builtin_isnan((float)a);                                                          \
    }                                                                                              \
    SIMT_INLINE bool __heq(T a, T b) {                                                             \
        return a == b;                                                                             \
    }                                                                                              \
    SIMT_INLINE bool __hlt(T a, T b) {                                                             \
        return a < b;                                                                              \
    }                                                                                              \
    SIMT_INLINE bool __hgt(T a, T b) {                                                             \
        return a > b;                                                                              \
    }                                                                                              \
    SIMT_INLINE T hexp(T a) {                                                                      \
        return T(::expf((float)a));                                                                \
    }                                                                                              \
    SIMT_INLINE T hlog(T a) {                                                                      \
        return T(::logf((float)a));                                                                \
    }                                                                                              \
    SIMT_INLINE T hsqrt(T a) {                                                                     \
        return T(::sqrtf((float)a));                                                               \
    }                                                                                              \
    SIMT_INLINE T hrsqrt(T a) {                                                                    \
        return T(rsqrtf((float)a));                                                                \
    }                                                                                              \
    SIMT_INLINE T hrcp(T a) {                                                                      \
        return T(1.0f / (float)a);                                                                 \
    }

/* Two of them in 4 bytes that move as one access. */
#define SIMT_NARROW_PAIR(P, T)                                                                     \
    struct alignas(4) P {                                                                          \
        typedef uint32_t __attribute__((may_alias)) word;                                          \
        T x, y;                                                                                    \
        P() = default;                                                                             \
        SIMT_MEMBER P(T a, T b) {                                                                  \
            *(word *)this = a.bits | (uint32_t)b.bits << 16;                                       \
        }                                                                                          \
        SIMT_MEMBER P(const P &o) {                                                                \
            *(word *)this = *(const word *)&o;                                                     \
        }                                                                                          \
        SIMT_MEMBER P &operator=(const P &o) {                                                     \
            *(word *)this = *(const word *)&o;                                                     \
            return *this;                                                                          \
        }                                                                                          \
    };                                                                                             \
    SIMT_INLINE P operator+(P a, P b) {                                                            \
        return P(a.x + b.x, a.y + b.y);                                                            \
    }                                                                                              \
    SIMT_INLINE P operator-(P a, P b) {                                                            \
        return P(a.x - b.x, a.y - b.y);                                                            \
    }                                                                                              \
    SIMT_INLINE P operator*(P a, P b) {                                                            \
        return P(a.x * b.x, a.y * b.y);                                                            \
    }                                                                                              \
    SIMT_INLINE P __hadd2(P a, P b) {                                                              \
        return a + b;                                                                              \
    }                                                                                              \
    SIMT_INLINE P __hsub2(P a, P b) {                                                              \
        return a - b;                                                                              \
    }                                                                                              \
    SIMT_INLINE P __hmul2(P a, P b) {                                                              \
        return a * b;                                                                              \
    }                                                                                              \
    SIMT_INLINE P __hfma2(P a, P b, P c) {                                                         \
        return P(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));                                    \
    }                                                                                              \
    SIMT_INLINE P __hmax2(P a, P b) {                                                              \
        return P(__hmax(a.x, b.x), __hmax(a.y, b.y));                                              \
    }                                                                                              \
    SIMT_INLINE P __hmin2(P a, P b) {                                                              \
        return P(__hmin(a.x, b.x), __hmin(a.y, b.y));                                              \
    }                                                                                              \
    SIMT_INLINE T __low2##T(P v) {                                                                 \
        return v.x;                                                                                \
    }                                                                                              \
    SIMT_INLINE T __high2##T(P v) {                                                                \
        return v.y;                                                                                \
    }

#endif
