/* vec.h: vectors of floats as wide as the machine's registers, and the few operations that the
 * kernels need.
 *
 * Written once over the compilers' vector extensions (gcc and clang, x86-64 and ARM64). Intrinsics
 * are used only for what the extensions don't have: the fused multiply-add, so that every path
 * rounds alike, and the widening of small types. VW is 16 with AVX-512, 8 with AVX2, else 4.
 * `-DSERVELAB_PORTABLE` gives VW 4 without intrinsics, as on an unknown machine; a test builds it.
 * Not here: loops (matmul.c, attention.c, ops.c).
 */
#ifndef SERVELAB_BACKEND_CPU_VEC_H
#define SERVELAB_BACKEND_CPU_VEC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if !defined(SERVELAB_PORTABLE) && defined(__AVX512F__) && defined(__AVX512BW__) &&                \
    defined(__AVX512DQ__) && defined(__AVX512VL__)
#define VEC_AVX512 1
#elif !defined(SERVELAB_PORTABLE) && defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define VEC_AVX2 1
#elif !defined(SERVELAB_PORTABLE) && defined(__aarch64__)
#define VEC_NEON 1
#endif

#if VEC_AVX512 || VEC_AVX2
#include <immintrin.h>
#elif VEC_NEON
#include <arm_neon.h>
#endif

#if VEC_AVX512
enum { VW = 16 };
#define VEC_REGISTERS 32
#elif VEC_AVX2
enum { VW = 8 };
#define VEC_REGISTERS 16
#else
enum { VW = 4 };
#if VEC_NEON
#define VEC_REGISTERS 32
#else
#define VEC_REGISTERS 16
#endif
#endif

typedef float vf __attribute__((vector_size(VW * 4)));
typedef int32_t vi __attribute__((vector_size(VW * 4)));
/* The same values at any address. */
typedef float vf_unaligned __attribute__((vector_size(VW * 4), aligned(4), may_alias));

#define VEC_INLINE static inline __attribute__((always_inline))

VEC_INLINE vf vf_load(const float *p) {
    return *(const vf_unaligned *)p;
}
VEC_INLINE void vf_store(float *p, vf v) {
    *(vf_unaligned *)p = v;
}
VEC_INLINE vf vf_set(float x) {
    return x - (vf){0}; /* a splat; x - 0 keeps -0, NaN and infinities as they are */
}
VEC_INLINE vi vi_set(int32_t x) {
    return x - (vi){0};
}

/* Keeps a loaded vector in its register. Without this, gcc loads it again in every instruction that
 * uses it, and the load ports limit a matrix product. */
#if VEC_AVX512
#define VEC_KEEP(v) __asm__("" : "+v"(v))
#elif VEC_AVX2
#define VEC_KEEP(v) __asm__("" : "+x"(v))
#elif VEC_NEON
#define VEC_KEEP(v) __asm__("" : "+w"(v))
#else
#define VEC_KEEP(v) ((void)0)
#endif

/* a * b + c with one rounding where the machine can, and always the same way within one build. */
VEC_INLINE vf vf_fma(vf a, vf b, vf c) {
#if VEC_AVX512
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif VEC_AVX2
    return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif VEC_NEON
    return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

/* a * b + c with one rounding on every machine. */
VEC_INLINE vf vf_fused(vf a, vf b, vf c) {
#if VEC_AVX512 || VEC_AVX2 || VEC_NEON
    return vf_fma(a, b, c);
#else
    for (int i = 0; i < VW; i++) c[i] = fmaf(a[i], b[i], c[i]);
    return c;
#endif
}

/* Lanes of `yes` where the mask (0 or -1) is set, of `no` elsewhere. */
VEC_INLINE vf vf_select(vi mask, vf yes, vf no) {
    return (vf)((mask & (vi)yes) | (~mask & (vi)no));
}
/* The greater lane; a NaN in b stays a NaN. */
VEC_INLINE vf vf_max(vf a, vf b) {
#if VEC_AVX512
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif VEC_AVX2
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return vf_select(a > b, a, b);
#endif
}
VEC_INLINE vf vf_min(vf a, vf b) {
#if VEC_AVX512
    return (vf)_mm512_min_ps((__m512)a, (__m512)b);
#elif VEC_AVX2
    return (vf)_mm256_min_ps((__m256)a, (__m256)b);
#else
    return vf_select(a < b, a, b);
#endif
}

/* The sum of the lanes. The order is part of the backend's numerics: the upper half is added to the
 * lower half until one lane is left. vf_sum4 gives the same bits for four vectors at once. */
typedef float vf4 __attribute__((vector_size(16)));
typedef float vf4_unaligned __attribute__((vector_size(16), aligned(4), may_alias));
VEC_INLINE vf4 vf_fold4(vf v) {
#if VEC_AVX512
    __m256 h =
        _mm256_add_ps(_mm512_castps512_ps256((__m512)v), _mm512_extractf32x8_ps((__m512)v, 1));
    return (vf4)_mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
#elif VEC_AVX2
    __m256 h = (__m256)v;
    return (vf4)_mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
#else
    return (vf4)v;
#endif
}
VEC_INLINE float vf_sum(vf v) {
    vf4 f = vf_fold4(v);
    return (f[0] + f[2]) + (f[1] + f[3]);
}
VEC_INLINE vf4 vf_sum4(vf a, vf b, vf c, vf d) {
    vf4 s = vf_fold4(a), t = vf_fold4(b), u = vf_fold4(c), v = vf_fold4(d);
    vf4 st = __builtin_shufflevector(s, t, 0, 4, 1, 5) + /* s0 t0 s1 t1 */
             __builtin_shufflevector(s, t, 2, 6, 3, 7);  /* s2 t2 s3 t3 */
    vf4 uv = __builtin_shufflevector(u, v, 0, 4, 1, 5) + __builtin_shufflevector(u, v, 2, 6, 3, 7);
    return __builtin_shufflevector(st, uv, 0, 1, 4, 5) +
           __builtin_shufflevector(st, uv, 2, 3, 6, 7);
}
VEC_INLINE float vf_max_lane(vf v) {
#if VEC_AVX512
    return _mm512_reduce_max_ps((__m512)v);
#else
    float m = v[0];
    for (int i = 1; i < VW; i++) m = v[i] > m ? v[i] : m;
    return m;
#endif
}

/* e^x, within 2 units in the last place for -87.3 <= x <= 88.3 and clamped to that range (the
 * argument is reduced to |r| <= ln 2 / 2, then a Taylor polynomial of degree 7). NaN stays NaN. */
VEC_INLINE vf vf_exp(vf x) {
    x = vf_max(vf_set(-87.3f), x);
    x = vf_min(vf_set(88.3f), x);
    const vf round = vf_set(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer */
    vf n = vf_fma(x, vf_set(1.44269504f), round);
    vi e = (vi)n - (vi)round;
    n = n - round;
    vf r = vf_fma(n, vf_set(-0.693145752f), x); /* ln 2 in two parts, the first with few bits */
    r = vf_fma(n, vf_set(-1.42860677e-6f), r);
    vf p = vf_set(1.0f / 5040);
    p = vf_fma(p, r, vf_set(1.0f / 720));
    p = vf_fma(p, r, vf_set(1.0f / 120));
    p = vf_fma(p, r, vf_set(1.0f / 24));
    p = vf_fma(p, r, vf_set(1.0f / 6));
    p = vf_fma(p, r, vf_set(0.5f));
    p = vf_fma(p, r, vf_set(1.0f));
    p = vf_fma(p, r, vf_set(1.0f));
    return p * (vf)((e + vi_set(127)) << 23);
}

/* Small types as floats: all exact. */
static inline float bf16_to_f32(uint16_t h) {
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static inline uint16_t f32_to_bf16(float f) { /* to nearest, ties to even; NaN stays NaN */
    uint32_t u;
    memcpy(&u, &f, 4);
    if ((u & 0x7fffffff) > 0x7f800000) return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static inline float f16_to_f32(uint16_t h) {
#if VEC_AVX512 || VEC_AVX2
    return _cvtsh_ss(h);
#else
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff, u;
    if (e == 0) { /* zero and subnormals: m * 2^-24 */
        float f = (float)m * 0x1p-24f;
        return sign ? -f : f;
    }
    u = sign | (e == 31 ? 0x7f800000 : (e + 112) << 23) | m << 13;
    float f;
    memcpy(&f, &u, 4);
    return f;
#endif
}
static inline uint16_t f32_to_f16(float f) { /* to nearest, ties to even */
#if VEC_AVX512 || VEC_AVX2
    return (uint16_t)_cvtss_sh(f, 0);
#else
    uint32_t u;
    memcpy(&u, &f, 4);
    uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    u &= 0x7fffffff;
    if (u > 0x7f800000) return sign | 0x7e00;
    if (u >= 0x477ff000) return sign | 0x7c00; /* 65520 and above round to infinity */
    if (u < 0x38800000) {                      /* below 2^-14: a multiple of 2^-24 */
        float a;
        memcpy(&a, &u, 4);
        return sign | (uint16_t)lrintf(a * 0x1p24f);
    }
    return sign | (uint16_t)((u - 0x38000000 + 0xfff + (u >> 13 & 1)) >> 13);
#endif
}

#endif
