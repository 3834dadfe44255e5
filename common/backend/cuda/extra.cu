/* extra.cu: see extra.cuh. */
#include "backend/cuda/extra.cuh"

static __device__ float4 load4(const float *p) {
    return *reinterpret_cast<const float4 *>(p);
}
static __device__ void store4(float *p, float4 v) {
    *reinterpret_cast<float4 *>(p) = v;
}

static __device__ unsigned two(float low, float high) {
    return (unsigned)__bfloat16_as_ushort(__float2bfloat16(low)) |
           (unsigned)__bfloat16_as_ushort(__float2bfloat16(high)) << 16;
}
static __device__ void store_bf16(bf16 *p, float4 v) {
    *reinterpret_cast<uint2 *>(p) = make_uint2(two(v.x, v.y), two(v.z, v.w));
}

/* What bf16 leaves of v. */
static __device__ float rest(float v) {
    return v - __bfloat162float(__float2bfloat16(v));
}
static __device__ float4 rest4(float4 v) {
    return make_float4(rest(v.x), rest(v.y), rest(v.z), rest(v.w));
}

KERNEL split_bf16(bf16 *out, const float *in, int32_t n, int32_t pieces) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i >= n) return;
    float4 v = load4(in + i);
    for (int32_t k = 0; k < pieces; k++, v = rest4(v)) store_bf16(out + (size_t)k * n + i, v);
}

KERNEL add_bias(float *y, const float *bias, int32_t rows, int32_t d) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i >= rows * d) return;
    float4 v = load4(y + i), a = load4(bias + i % d);
    store4(y + i, make_float4(v.x + a.x, v.y + a.y, v.z + a.z, v.w + a.w));
}

KERNEL gather(float *out, const float *in, const int32_t *row, int32_t rows, int32_t d) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i < rows * d) store4(out + i, load4(in + (size_t)row[i / d] * d + i % d));
}

/* a cos + sign b sin */
static __device__ float4 turn(float4 a, float4 cos, float4 b, float4 sin, float sign) {
    return make_float4(a.x * cos.x + sign * b.x * sin.x, a.y * cos.y + sign * b.y * sin.y,
                       a.z * cos.z + sign * b.z * sin.z, a.w * cos.w + sign * b.w * sin.w);
}

KERNEL rope_split(float *q, bf16 *kpool, bf16 *vpool, const float *k, const float *v,
                  const float *cosines, const float *sines, const int32_t *position,
                  const int32_t *slot, int32_t tokens, int32_t q_heads, int32_t kv_heads,
                  int32_t head_dim) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x), half = head_dim / 2;
    int32_t heads = q_heads + kv_heads, h = i / (half / 4) % heads, pair = i % (half / 4) * 4;
    int32_t t = i / (half / 4) / heads;
    if (t >= tokens) return;
    size_t angle = (size_t)position[t] * half + pair;
    float4 c = load4(cosines + angle), s = load4(sines + angle);
    const float *x = h < q_heads ? q + ((size_t)t * q_heads + h) * head_dim + pair
                                 : k + ((size_t)t * kv_heads + h - q_heads) * head_dim + pair;
    float4 a = turn(load4(x), c, load4(x + half), s, -1);
    float4 b = turn(load4(x + half), c, load4(x), s, 1);
    if (h < q_heads) {
        store4(q + (x - q), a);
        store4(q + (x - q) + half, b);
        return;
    }
    h -= q_heads;
    const float *value = v + ((size_t)t * kv_heads + h) * head_dim + pair;
    float4 va = load4(value), vb = load4(value + half);
    if (pair >= half / 2) a = rest4(a), b = rest4(b), va = rest4(va), vb = rest4(vb);
    size_t row = ((size_t)(slot[t] / KV_BLOCK_TOKENS) * kv_heads + h) * KV_BLOCK_TOKENS +
                 slot[t] % KV_BLOCK_TOKENS;
    store_bf16(kpool + row * head_dim + pair, a);
    store_bf16(kpool + row * head_dim + half + pair, b);
    store_bf16(vpool + row * head_dim + pair, va);
    store_bf16(vpool + row * head_dim + half + pair, vb);
}
