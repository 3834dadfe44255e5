/* rope_2.cu: rotary positions and the write into the cache, version 2 of 3.
 *
 * A thread a pair: first the pairs of all query heads, then those of all KV heads.
 *
 * Moves: 12 bytes a query value, 16 a key and its value, the tables among them.
 * Does: 3 operations a value.
 * Counter: bytes: every access is coalesced.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/rope_2.cu
 */
#include "backend/kernels.h"

KERNEL rope(float *q, bf16 *kpool, bf16 *vpool, const float *k, const float *v,
            const float *cosines, const float *sines, const int32_t *position, const int32_t *slot,
            int32_t tokens, int32_t q_heads, int32_t kv_heads, int32_t head_dim) {
    int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x), half = head_dim / 2;
    int32_t queries = tokens * q_heads * half, keys = tokens * kv_heads * half;
    bool is_query = i < queries;
    if (!is_query) i -= queries;
    if (!is_query && i >= keys) return;
    int32_t h = i / half, heads = is_query ? q_heads : kv_heads;
    int32_t t = h / heads, pair = i % half;
    float c = cosines[(size_t)position[t] * half + pair];
    float s = sines[(size_t)position[t] * half + pair];
    if (is_query) {
        float *x = q + (size_t)h * head_dim + pair;
        float a = x[0], b = x[half];
        x[0] = a * c - b * s;
        x[half] = a * s + b * c;
        return;
    }
    int32_t at = slot[t], block = at / KV_BLOCK_TOKENS;
    size_t from = (size_t)h * head_dim + pair;
    size_t to =
        (((size_t)block * kv_heads + h % kv_heads) * KV_BLOCK_TOKENS + at % KV_BLOCK_TOKENS) *
            head_dim +
        pair;
    float a = k[from], b = k[from + half];
    kpool[to] = __float2bfloat16(a * c - b * s);
    kpool[to + half] = __float2bfloat16(a * s + b * c);
    vpool[to] = __float2bfloat16(v[from]);
    vpool[to + half] = __float2bfloat16(v[from + half]);
}
