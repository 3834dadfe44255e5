/* rope.cu: rotary positions, with the write into the paged cache. Defined in backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin rope.cu
 */
#include "backend/kernels.h"

// BEGIN SOLUTION
/* Four pairs a thread: first those of all query heads, then those of all KV heads.
 *
 * Moves: 12 bytes a query value, 16 a key and its value, the tables among them.
 * Does: 3 operations a value.
 * Counter: requests: a quarter of those of a thread a pair.
 */

struct four_pairs {
    float4 a, b;
};

static __device__ float4 load4(const float *p) {
    return *reinterpret_cast<const float4 *>(p);
}
static __device__ void store4(float *p, float4 v) {
    *reinterpret_cast<float4 *>(p) = v;
}

/* (a, b) -> (a cos - b sin, a sin + b cos), four times. */
static __device__ four_pairs turn(const float *x, int32_t half, float4 c, float4 s) {
    float4 a = load4(x), b = load4(x + half);
    return {make_float4(a.x * c.x - b.x * s.x, a.y * c.y - b.y * s.y, a.z * c.z - b.z * s.z,
                        a.w * c.w - b.w * s.w),
            make_float4(a.x * s.x + b.x * c.x, a.y * s.y + b.y * c.y, a.z * s.z + b.z * c.z,
                        a.w * s.w + b.w * c.w)};
}

static __device__ unsigned two(float low, float high) {
    return (unsigned)__bfloat16_as_ushort(__float2bfloat16(low)) |
           (unsigned)__bfloat16_as_ushort(__float2bfloat16(high)) << 16;
}
static __device__ void store_bf16(bf16 *p, float4 v) {
    *reinterpret_cast<uint2 *>(p) = make_uint2(two(v.x, v.y), two(v.z, v.w));
}
// END SOLUTION

KERNEL rope(float *q, bf16 *kpool, bf16 *vpool, const float *k, const float *v,
            const float *cosines, const float *sines, const int32_t *position, const int32_t *slot,
            int32_t tokens, int32_t q_heads, int32_t kv_heads, int32_t head_dim) {
    // BEGIN SOLUTION
    //| LAB_TODO_KERNEL("rope");
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x), half = head_dim / 2;
    int32_t queries = tokens * q_heads * half / 4, keys = tokens * kv_heads * half / 4;
    bool is_query = i < queries;
    if (!is_query) i -= queries;
    if (!is_query && i >= keys) return;
    int32_t h = i / (half / 4), pair = i % (half / 4) * 4;
    int32_t t = h / (is_query ? q_heads : kv_heads);
    size_t angle = (size_t)position[t] * half + pair;
    float4 c = load4(cosines + angle), s = load4(sines + angle);
    size_t from = (size_t)h * head_dim + pair;
    if (is_query) {
        four_pairs turned = turn(q + from, half, c, s);
        store4(q + from, turned.a);
        store4(q + from + half, turned.b);
        return;
    }
    int32_t at = slot[t], block = at / KV_BLOCK_TOKENS;
    size_t to =
        (((size_t)block * kv_heads + h % kv_heads) * KV_BLOCK_TOKENS + at % KV_BLOCK_TOKENS) *
            head_dim +
        pair;
    four_pairs turned = turn(k + from, half, c, s);
    store_bf16(kpool + to, turned.a);
    store_bf16(kpool + to + half, turned.b);
    store_bf16(vpool + to, load4(v + from));
    store_bf16(vpool + to + half, load4(v + from + half));
    // END SOLUTION
}
