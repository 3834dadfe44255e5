/* cuda_bf16.h: __nv_bfloat16, rounded to nearest even, bit for bit as on a GPU. In C a plain
 * struct.
 *
 * Arithmetic converts to float, computes, and rounds once, which is what the hardware gives for + -
 * * /; a fused multiply-add rounds once as well.
 */
#ifndef SIMT_CUDA_BF16_H
#define SIMT_CUDA_BF16_H

#ifndef __cplusplus
#include <stdint.h>
typedef struct {
    uint16_t x;
} __nv_bfloat16;
typedef struct {
    __nv_bfloat16 x, y;
} __nv_bfloat162;
#else
#include "cuda_runtime.h"
#include "simt_narrow.h"

struct __nv_bfloat16 {
    uint16_t bits;
    __nv_bfloat16() = default;
    SIMT_MEMBER __nv_bfloat16(float f) : bits(simt_bf16_from_float(f)) {}
    SIMT_MEMBER __nv_bfloat16(double f) : bits(simt_bf16_from_float((float)f)) {}
    SIMT_MEMBER __nv_bfloat16(int i) : bits(simt_bf16_from_float((float)i)) {}
    SIMT_MEMBER operator float() const {
        return simt_bf16_to_float(bits);
    }
};
SIMT_NARROW_OPERATORS(__nv_bfloat16)
SIMT_NARROW_PAIR(__nv_bfloat162, __nv_bfloat16)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
struct __nv_bfloat16_raw {
    unsigned short x;
};

SIMT_INLINE float __bfloat162float(__nv_bfloat16 b) {
    return b;
}
SIMT_INLINE __nv_bfloat16 __float2bfloat16(float f) {
    return __nv_bfloat16(f);
}
SIMT_INLINE __nv_bfloat16 __float2bfloat16_rn(float f) {
    return __nv_bfloat16(f);
}
SIMT_INLINE __nv_bfloat16 __double2bfloat16(double f) {
    return __nv_bfloat16(f);
}
SIMT_INLINE __nv_bfloat16 __int2bfloat16_rn(int i) {
    return __nv_bfloat16(i);
}
SIMT_INLINE __nv_bfloat162 __floats2bfloat162_rn(float a, float b) {
    return __nv_bfloat162(a, b);
}
SIMT_INLINE __nv_bfloat162 __float2bfloat162_rn(float a) {
    return __nv_bfloat162(a, a);
}
SIMT_INLINE __nv_bfloat162 __float22bfloat162_rn(float2 v) {
    return __nv_bfloat162(v.x, v.y);
}
SIMT_INLINE float2 __bfloat1622float2(__nv_bfloat162 v) {
    return make_float2(v.x, v.y);
}
SIMT_INLINE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 b) {
    return __nv_bfloat162(b, b);
}
SIMT_INLINE __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) {
    return __nv_bfloat162(a, b);
}
SIMT_INLINE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) {
    return __nv_bfloat162(a, b);
}
SIMT_INLINE float __low2float(__nv_bfloat162 v) {
    return v.x;
}
SIMT_INLINE float __high2float(__nv_bfloat162 v) {
    return v.y;
}
SIMT_INLINE unsigned short __bfloat16_as_ushort(__nv_bfloat16 b) {
    return b.bits;
}
SIMT_INLINE __nv_bfloat16 __ushort_as_bfloat16(unsigned short u) {
    __nv_bfloat16 b;
    b.bits = u;
    return b;
}
#endif

#endif
