/* attention_prefill_2.cu: causal attention of a prompt, version 2 of 4.
 *
 * A warp a query and head; the lanes share out a key's values, so that a key is read in whole
 * sectors, and the softmax is online: no score is stored. Grid: q_heads by tokens. Blocks of 32
 * threads.
 *
 * Moves: keys and values once for every query and head.
 * Does: 4 operations a query, head, key and value.
 * Counter: bytes: 4 a key's and value's pair instead of 34.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin \
 *     solutions/03_kernels/steps/attention_prefill_2.cu
 */
#include "backend/kernels.h"

#include <float.h>

/* Where the key and the value at a position begin in the pools. */
static __device__ size_t cache_at(const int32_t *table, int32_t position, int32_t kv_head,
                                  int32_t kv_heads, int32_t head_dim) {
    size_t block = (size_t)table[position / KV_BLOCK_TOKENS];
    return ((block * kv_heads + kv_head) * KV_BLOCK_TOKENS + position % KV_BLOCK_TOKENS) * head_dim;
}

static __device__ float warp_sum(float v) {
    for (int32_t offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(~0u, v, offset);
    return v;
}

/* Two bf16 in 4 bytes: a bf16 is the upper half of a float. */
static __device__ float2 widen(unsigned two) {
    return make_float2(__uint_as_float(two << 16), __uint_as_float(two & 0xffff0000u));
}

enum { PAIRS = KERNEL_MAX_HEAD_DIM / 64 }; /* pairs of values that a lane has */

KERNEL attention_prefill(float *out, const float *q, const bf16 *kpool, const bf16 *vpool,
                         const int32_t *block_table, int32_t pos0, int32_t tokens, int32_t q_heads,
                         int32_t kv_heads, int32_t head_dim, float scale) {
    int32_t lane = (int32_t)threadIdx.x, pairs = head_dim / 2;
    int32_t h = (int32_t)blockIdx.x, t = (int32_t)blockIdx.y, kv_head = h / (q_heads / kv_heads);
    size_t row = ((size_t)t * q_heads + h) * head_dim;
    float2 query[PAIRS], sum_v[PAIRS];
    float greatest = -FLT_MAX, sum = 0;
#pragma unroll
    for (int32_t j = 0; j < PAIRS; j++) {
        int32_t i = j * 32 + lane;
        query[j] = i < pairs ? reinterpret_cast<const float2 *>(q + row)[i] : make_float2(0, 0);
        sum_v[j] = make_float2(0, 0);
    }
    size_t at = 0;
    for (int32_t p = 0; p <= pos0 + t; p++, at += head_dim) {
        if (p % KV_BLOCK_TOKENS == 0) at = cache_at(block_table, p, kv_head, kv_heads, head_dim);
        const unsigned *key = reinterpret_cast<const unsigned *>(kpool + at);
        const unsigned *value = reinterpret_cast<const unsigned *>(vpool + at);
        float s = 0;
#pragma unroll
        for (int32_t j = 0; j < PAIRS; j++)
            if (j * 32 + lane < pairs) {
                float2 k = widen(key[j * 32 + lane]);
                s += query[j].x * k.x + query[j].y * k.y;
            }
        s = warp_sum(s) * scale;
        float higher = fmaxf(greatest, s), keep = expf(greatest - higher), e = expf(s - higher);
        greatest = higher;
        sum = sum * keep + e;
#pragma unroll
        for (int32_t j = 0; j < PAIRS; j++)
            if (j * 32 + lane < pairs) {
                float2 v = widen(value[j * 32 + lane]);
                sum_v[j].x = sum_v[j].x * keep + e * v.x;
                sum_v[j].y = sum_v[j].y * keep + e * v.y;
            }
    }
#pragma unroll
    for (int32_t j = 0; j < PAIRS; j++)
        if (j * 32 + lane < pairs)
            reinterpret_cast<float2 *>(out + row)[j * 32 + lane] =
                make_float2(sum_v[j].x / sum, sum_v[j].y / sum);
}
