/* ops.c: RMSNorm, rotary positions, SwiGLU's gate. See ops.h. */
#include "backend/cpu/ops.h"

#include "backend/cpu/vec.h"

#include <math.h>

void ops_rmsnorm(float *out, const float *x, const float *weight, int32_t n, float eps) {
    vf squares = {0};
    int32_t i = 0;
    for (; i + VW <= n; i += VW) {
        vf v = vf_load(x + i);
        squares = vf_fma(v, v, squares);
    }
    float sum = vf_sum(squares);
    for (; i < n; i++) sum += x[i] * x[i];
    float scale = (float)(1.0 / sqrt((double)sum / n + (double)eps));
    for (i = 0; i < n; i++) out[i] = weight[i] * (x[i] * scale);
}

static vf silu_mul(vf gate, vf up) {
    return gate / (vf_set(1.0f) + vf_exp(-gate)) * up;
}

void ops_silu_mul(float *gate, const float *up, int32_t n) {
    int32_t i = 0;
    for (; i + VW <= n; i += VW) vf_store(gate + i, silu_mul(vf_load(gate + i), vf_load(up + i)));
    if (i == n) return;
    float g[VW] = {0}, u[VW] = {0}; /* the tail in the same arithmetic as the rest */
    memcpy(g, gate + i, (size_t)(n - i) * sizeof *g);
    memcpy(u, up + i, (size_t)(n - i) * sizeof *u);
    vf_store(g, silu_mul(vf_load(g), vf_load(u)));
    memcpy(gate + i, g, (size_t)(n - i) * sizeof *g);
}

void ops_rope_frequencies(float *frequency, int32_t head_dim, float theta, float scale,
                          const float *factors) {
    for (int32_t i = 0; i < head_dim / 2; i++) {
        float f = (float)(1.0 / (double)(float)pow(theta, (double)(2 * i) / head_dim));
        frequency[i] = (factors ? f / factors[i] : f) / scale;
    }
}

void ops_rope_angles(float *cosines, float *sines, const float *frequency, int32_t half,
                     int32_t position) {
    for (int32_t i = 0; i < half; i++) {
        float angle = (float)position * frequency[i];
        cosines[i] = (float)cos((double)angle);
        sines[i] = (float)sin((double)angle);
    }
}

void ops_rope(float *head, int32_t head_dim, enum rope_pairing pairing, const float *cosines,
              const float *sines) {
    int32_t half = head_dim / 2;
    for (int32_t i = 0; i < half; i++) {
        float *pa = pairing == ROPE_NEIGHBOURS ? head + 2 * i : head + i;
        float *pb = pairing == ROPE_NEIGHBOURS ? pa + 1 : pa + half;
        float a = *pa, b = *pb;
        *pa = a * cosines[i] - b * sines[i];
        *pb = a * sines[i] + b * cosines[i];
    }
}
