/* cuda_fp16.h: __half, IEEE binary16, rounded to nearest even, subnormals kept. In C a plain
 * struct.
 */
#ifndef SIMT_CUDA_FP16_H
#define SIMT_CUDA_FP16_H

#ifndef __cplusplus
#include <stdint.h>
typedef struct {
    uint16_t x;
} __half;
typedef struct {
    __half x, y;
} __half2;
typedef __half half;
typedef __half2 half2;
#else
#include "cuda_runtime.h"
#include "simt_narrow.h"

struct __half {
    uint16_t bits;
    __half() = default;
    SIMT_MEMBER __half(float f) : bits(simt_half_from_float(f)) {}
    SIMT_MEMBER __half(double f) : bits(simt_half_from_float((float)f)) {}
    SIMT_MEMBER __half(int i) : bits(simt_half_from_float((float)i)) {}
    SIMT_MEMBER operator float() const {
        return simt_half_to_float(bits);
    }
};
SIMT_NARROW_OPERATORS(__half)
SIMT_NARROW_PAIR(__half2, __half)
typedef __half half;
typedef __half2 half2;

SIMT_INLINE float __half2float(__half h) {
    return h;
}
SIMT_INLINE __half __float2half(float f) {
    return __half(f);
}
SIMT_INLINE __half __float2half_rn(float f) {
    return __half(f);
}
SIMT_INLINE __half __double2half(double f) {
    return __half(f);
}
SIMT_INLINE __half __int2half_rn(int i) {
    return __half(i);
}
SIMT_INLINE int __half2int_rn(__half h) {
    return (int)__builtin_rintf((float)h);
}
SIMT_INLINE __half2 __floats2half2_rn(float a, float b) {
    return __half2(a, b);
}
SIMT_INLINE __half2 __float2half2_rn(float a) {
    return __half2(a, a);
}
SIMT_INLINE __half2 __float22half2_rn(float2 v) {
    return __half2(v.x, v.y);
}
SIMT_INLINE float2 __half22float2(__half2 v) {
    return make_float2(v.x, v.y);
}
SIMT_INLINE __half2 __half2half2(__half h) {
    return __half2(h, h);
}
SIMT_INLINE __half2 __halves2half2(__half a, __half b) {
    return __half2(a, b);
}
SIMT_INLINE __half2 make_half2(__half a, __half b) {
    return __half2(a, b);
}
SIMT_INLINE float __low2float(__half2 v) {
    return v.x;
}
SIMT_INLINE float __high2float(__half2 v) {
    return v.y;
}
SIMT_INLINE unsigned short __half_as_ushort(__half h) {
    return h.bits;
}
SIMT_INLINE short __half_as_short(__half h) {
    return (short)h.bits;
}
SIMT_INLINE __half __ushort_as_half(unsigned short u) {
    __half h;
    h.bits = u;
    return h;
}
#endif

#endif
