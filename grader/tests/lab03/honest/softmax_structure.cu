/* An honest variant: a structure with a constructor and an operator, a template, constants and a
 * macro, a warp a row.
 */
#include "backend/kernels.h"

#include <cfloat>

#define LANES    32
#define AT(p, i) ((p)[(i)])

struct part {
    float greatest, sum;
    __device__ part() : greatest(-FLT_MAX), sum(0) {}
    __device__ part(float g, float s) : greatest(g), sum(s) {}
    __device__ part operator+(const part &o) const {
        float g = fmaxf(greatest, o.greatest);
        return part(g, sum * expf(greatest - g) + o.sum * expf(o.greatest - g));
    }
};

template <int32_t WIDTH = LANES> static __device__ part over_warp(part p) {
#pragma unroll
    for (int32_t o = WIDTH / 2; o > 0; o /= 2)
        p = p + part(__shfl_xor_sync(0xffffffffu, p.greatest, o),
                     __shfl_xor_sync(0xffffffffu, p.sum, o));
    return p;
}

static constexpr int32_t FOUR = 4;

KERNEL softmax(float *out, const float *x, int32_t rows, int32_t d) {
    int32_t row = (int32_t)(blockIdx.x * blockDim.y + threadIdx.y);
    if (row >= rows) return;
    const float4 *in = (const float4 *)(x + (size_t)row * d);
    part p;
    for (int32_t i = (int32_t)threadIdx.x; i < d / FOUR; i += LANES) {
        float4 v = AT(in, i);
        float g = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
        p = p + part(g, expf(v.x - g) + expf(v.y - g) + expf(v.z - g) + expf(v.w - g));
    }
    p = over_warp(p);
    float scale = 1.0f / p.sum;
    for (int32_t i = (int32_t)threadIdx.x; i < d / FOUR; i += LANES) {
        float4 v = AT(in, i);
        ((float4 *)(out + (size_t)row * d))[i] =
            make_float4(expf(v.x - p.greatest) * scale, expf(v.y - p.greatest) * scale,
                        expf(v.z - p.greatest) * scale, expf(v.w - p.greatest) * scale);
    }
}
