/* fp8.c: see fp8.h. */
#include "backend/cpu/fp8.h"

#include <math.h>
#include <string.h>

static const float GREATEST = 448, LEAST_NORMAL = 0x1p-6f;

float fp8_to_f32(uint8_t code) {
    int e = code >> 3 & 15, m = code & 7;
    float f = e == 15 && m == 7 ? NAN
              : e == 0          ? (float)m * 0x1p-9f
                                : ldexpf((float)(8 + m), e - 7 - 3);
    return code & 0x80 ? -f : f;
}

uint8_t fp8_from_f32(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    uint8_t sign = (uint8_t)(u >> 24 & 0x80);
    u &= 0x7fffffff;
    f = fabsf(f);
    if (isnan(f)) return sign | 0x7f;
    if (f >= GREATEST) return sign | 0x7e;
    /* Here a step is 2^-9: the sum has no bits below it. A carry gives the least normal code. */
    if (f < LEAST_NORMAL) return sign | (uint8_t)((f + 0x1p14f - 0x1p14f) * 0x1p9f);
    u += 0x7ffff + (u >> 20 & 1); /* a carry may reach the exponent, as it should */
    return sign | (uint8_t)((u >> 20) - (127 - 7) * 8);
}

/* The least power of two that, times 448, is not less than `most`. */
static float scale_for(float most) {
    int e;
    float least = most / GREATEST;
    if (least == 0 || !isfinite(least)) return least;
    float fraction = frexpf(least, &e); /* 0.5 .. 1 */
    return ldexpf(fraction > 0.5f ? 1 : 0.5f, e);
}

void fp8_from_row(const float *x, int32_t cols, float *scale, uint8_t *codes) {
    float most = 0;
    for (int32_t i = 0; i < cols; i++) most = fmaxf(most, fabsf(x[i]));
    *scale = scale_for(most);
    for (int32_t i = 0; i < cols; i++) codes[i] = *scale > 0 ? fp8_from_f32(x[i] / *scale) : 0;
}
