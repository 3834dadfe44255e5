/* simt_math.h: device mathematics and bit operations that <cmath> lacks.
 *
 * The fast intrinsics (__expf and so on) are here as accurate as the C library: a result may differ
 * from a GPU's in the last digits, so compare with a tolerance.
 */
#ifndef SIMT_MATH_H
#define SIMT_MATH_H

#define SIMT_MIN_MAX(T)                                                                            \
    SIMT_INLINE T min(T a, T b) {                                                                  \
        return b < a ? b : a;                                                                      \
    }                                                                                              \
    SIMT_INLINE T max(T a, T b) {                                                                  \
        return a < b ? b : a;                                                                      \
    }
SIMT_MIN_MAX(int)
SIMT_MIN_MAX(unsigned)
SIMT_MIN_MAX(long)
SIMT_MIN_MAX(unsigned long)
SIMT_MIN_MAX(long long)
SIMT_MIN_MAX(unsigned long long)
/* of a number and a NaN, the number, as on a GPU */
SIMT_INLINE float min(float a, float b) {
    return __builtin_fminf(a, b);
}
SIMT_INLINE float max(float a, float b) {
    return __builtin_fmaxf(a, b);
}
SIMT_INLINE double min(double a, double b) {
    return __builtin_fmin(a, b);
}
SIMT_INLINE double max(double a, double b) {
    return __builtin_fmax(a, b);
}
SIMT_INLINE unsigned min(int a, unsigned b) {
    return min((unsigned)a, b);
}
SIMT_INLINE unsigned min(unsigned a, int b) {
    return min(a, (unsigned)b);
}
SIMT_INLINE unsigned max(int a, unsigned b) {
    return max((unsigned)a, b);
}
SIMT_INLINE unsigned max(unsigned a, int b) {
    return max(a, (unsigned)b);
}
SIMT_INLINE int64_t min(int64_t a, int b) {
    return min(a, (int64_t)b);
}
SIMT_INLINE int64_t max(int64_t a, int b) {
    return max(a, (int64_t)b);
}
SIMT_INLINE int64_t min(int a, int64_t b) {
    return min((int64_t)a, b);
}
SIMT_INLINE int64_t max(int a, int64_t b) {
    return max((int64_t)a, b);
}

SIMT_INLINE float __int_as_float(int i) {
    return simt_from_bits<float>((uint32_t)i);
}
SIMT_INLINE float __uint_as_float(unsigned i) {
    return simt_from_bits<float>(i);
}
SIMT_INLINE int __float_as_int(float f) {
    return (int)simt_to_bits(f);
}
SIMT_INLINE unsigned __float_as_uint(float f) {
    return (unsigned)simt_to_bits(f);
}
SIMT_INLINE long long __double_as_longlong(double d) {
    return (long long)simt_to_bits(d);
}
SIMT_INLINE double __longlong_as_double(long long i) {
    return simt_from_bits<double>((uint64_t)i);
}

SIMT_INLINE float rsqrtf(float x) {
    return 1.0f / __builtin_sqrtf(x);
}
SIMT_INLINE double rsqrt(double x) {
    return 1.0 / __builtin_sqrt(x);
}
SIMT_INLINE float rsqrt(float x) {
    return rsqrtf(x);
}
SIMT_INLINE float __frsqrt_rn(float x) {
    return rsqrtf(x);
}
SIMT_INLINE float __fsqrt_rn(float x) {
    return __builtin_sqrtf(x);
}
SIMT_INLINE float __frcp_rn(float x) {
    return 1.0f / x;
}
SIMT_INLINE float __fdividef(float a, float b) {
    return a / b;
}
SIMT_INLINE float fdividef(float a, float b) {
    return a / b;
}
SIMT_INLINE float __fdiv_rn(float a, float b) {
    return a / b;
}
SIMT_INLINE float __fadd_rn(float a, float b) {
    return a + b;
}
SIMT_INLINE float __fsub_rn(float a, float b) {
    return a - b;
}
SIMT_INLINE float __fmul_rn(float a, float b) {
    return a * b;
}
SIMT_INLINE float __fmaf_rn(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}
SIMT_INLINE float __saturatef(float x) {
    return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f;
}
#define __expf(x)          ::expf(x)
#define __logf(x)          ::logf(x)
#define __log2f(x)         ::log2f(x)
#define __log10f(x)        ::log10f(x)
#define __sinf(x)          ::sinf(x)
#define __cosf(x)          ::cosf(x)
#define __tanf(x)          ::tanf(x)
#define __powf(x, y)       ::powf(x, y)
#define __exp10f(x)        ::powf(10.0f, x)
#define __sincosf(x, s, c) ::sincosf(x, s, c)
SIMT_INLINE void sincospif(float x, float *s, float *c) {
    *s = ::sinf(x * 3.14159265358979f), *c = ::cosf(x * 3.14159265358979f);
}
SIMT_INLINE float sinpif(float x) {
    return (float)::sin(x * 3.14159265358979323846);
}
SIMT_INLINE float cospif(float x) {
    return (float)::cos(x * 3.14159265358979323846);
}
SIMT_INLINE float normcdff(float x) {
    return 0.5f * ::erfcf(x * -0.70710678f);
}
SIMT_INLINE float rcbrtf(float x) {
    return 1.0f / ::cbrtf(x);
}

SIMT_INLINE int __float2int_rn(float x) {
    return (int)__builtin_rintf(x);
}
SIMT_INLINE int __float2int_rz(float x) {
    return (int)x;
}
SIMT_INLINE int __float2int_rd(float x) {
    return (int)__builtin_floorf(x);
}
SIMT_INLINE int __float2int_ru(float x) {
    return (int)__builtin_ceilf(x);
}
SIMT_INLINE unsigned __float2uint_rn(float x) {
    return (unsigned)__builtin_rintf(x);
}
SIMT_INLINE unsigned __float2uint_rz(float x) {
    return (unsigned)x;
}
SIMT_INLINE float __int2float_rn(int x) {
    return (float)x;
}
SIMT_INLINE float __uint2float_rn(unsigned x) {
    return (float)x;
}
SIMT_INLINE float __double2float_rn(double x) {
    return (float)x;
}
SIMT_INLINE int __double2int_rn(double x) {
    return (int)__builtin_rint(x);
}

SIMT_INLINE int __popc(unsigned x) {
    return __builtin_popcount(x);
}
SIMT_INLINE int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
SIMT_INLINE int __clz(int x) {
    return x ? __builtin_clz((unsigned)x) : 32;
}
SIMT_INLINE int __clzll(long long x) {
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
SIMT_INLINE int __ffs(int x) {
    return __builtin_ffs(x);
}
SIMT_INLINE int __ffsll(long long x) {
    return __builtin_ffsll(x);
}
SIMT_INLINE unsigned __brev(unsigned x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
SIMT_INLINE int __mulhi(int a, int b) {
    return (int)((int64_t)a * b >> 32);
}
SIMT_INLINE unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((uint64_t)a * b >> 32);
}
SIMT_INLINE int __mul24(int a, int b) {
    return (a << 8 >> 8) * (b << 8 >> 8);
}
SIMT_INLINE unsigned __umul24(unsigned a, unsigned b) {
    return (a & 0xffffff) * (b & 0xffffff);
}
SIMT_INLINE unsigned umin(unsigned a, unsigned b) {
    return min(a, b);
}
SIMT_INLINE unsigned umax(unsigned a, unsigned b) {
    return max(a, b);
}
SIMT_INLINE unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
    return (unsigned)((((uint64_t)hi << 32 | lo) << (n & 31)) >> 32);
}
SIMT_INLINE unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
    return (unsigned)(((uint64_t)hi << 32 | lo) >> (n & 31));
}
SIMT_INLINE unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
    uint64_t bytes = (uint64_t)b << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) {
        unsigned pick = s >> (4 * i), byte = (unsigned)(bytes >> (8 * (pick & 7))) & 0xff;
        if (pick & 8) byte = byte & 0x80 ? 0xff : 0;
        r |= byte << (8 * i);
    }
    return r;
}
/* four signed (unsigned) byte products added to c */
SIMT_INLINE int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 4; i++) c += (int)(int8_t)(a >> (8 * i)) * (int8_t)(b >> (8 * i));
    return c;
}
SIMT_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 4; i++) c += (a >> (8 * i) & 0xff) * (b >> (8 * i) & 0xff);
    return c;
}

/* Cache hints: the access alone. */
template <class T> SIMT_INLINE T __ldg(const T *p) {
    return *p;
}
template <class T> SIMT_INLINE T __ldca(const T *p) {
    return *p;
}
template <class T> SIMT_INLINE T __ldcg(const T *p) {
    return *p;
}
template <class T> SIMT_INLINE T __ldcs(const T *p) {
    return *p;
}
template <class T> SIMT_INLINE T __ldlu(const T *p) {
    return *p;
}
template <class T> SIMT_INLINE T __ldcv(const T *p) {
    return *(const volatile T *)p;
}
template <class T> SIMT_INLINE void __stwb(T *p, typename simt_same<T>::type v) {
    *p = v;
}
template <class T> SIMT_INLINE void __stcg(T *p, typename simt_same<T>::type v) {
    *p = v;
}
template <class T> SIMT_INLINE void __stcs(T *p, typename simt_same<T>::type v) {
    *p = v;
}
template <class T> SIMT_INLINE void __stwt(T *p, typename simt_same<T>::type v) {
    *p = v;
}

/* Copies of 4, 8 or 16 bytes to shared memory: done at once; waiting for them is nothing. */
SIMT_INLINE void __pipeline_memcpy_async(void *dst, const void *src, size_t n) {
    if (n == 16)
        *(uint4 *)dst = *(const uint4 *)src;
    else if (n == 8)
        *(uint2 *)dst = *(const uint2 *)src;
    else
        *(unsigned *)dst = *(const unsigned *)src;
}
SIMT_INLINE void __pipeline_commit() {}
SIMT_INLINE void __pipeline_wait_prior(size_t) {}

extern "C" long long simt_clock(void);
SIMT_INLINE long long clock64() {
    return simt_clock();
}
SIMT_INLINE void __nanosleep(unsigned) {}
#define __trap() simt_trap("__trap()", __FILE__, __LINE__)

#endif
