/* attention_decode_2.cu: attention of one new token, version 2 of 3.
 *
 * A warp a split and query head; the lanes share out a key's values, so that a key is read in whole
 * sectors, and the softmax is online. Grid: splits by q_heads by seqs. Blocks of 32 threads.
 *
 * Moves: keys and values once for every query head.
 * Does: 4 operations a head, key and value.
 * Counter: bytes: 4 a key's and value's pair instead of 34.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin \
 *     solutions/03_kernels/steps/attention_decode_2.cu
 */
#include "backend/kernels.h"

#include <float.h>

static __device__ float warp_sum(float v) {
    for (int32_t offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(~0u, v, offset);
    return v;
}

/* Two bf16 in 4 bytes: a bf16 is the upper half of a float. */
static __device__ float2 widen(unsigned two) {
    return make_float2(__uint_as_float(two << 16), __uint_as_float(two & 0xffff0000u));
}

/* The blocks of the table that a split has: first .. end - 1, and the keys of the sequence. */
struct span {
    int32_t first, end, keys;
};

static __device__ span span_of(int32_t keys, int32_t split, int32_t splits) {
    int32_t blocks = (keys + KV_BLOCK_TOKENS - 1) / KV_BLOCK_TOKENS;
    int32_t each = (blocks + splits - 1) / splits;
    return {min(split * each, blocks), min((split + 1) * each, blocks), keys};
}

enum { PAIRS = KERNEL_MAX_HEAD_DIM / 64 }; /* pairs of values that a lane has */

KERNEL attention_decode(float *partial, float *split_max, float *split_sum, const float *q,
                        const bf16 *kpool, const bf16 *vpool, const int32_t *block_tables,
                        const int32_t *length, int32_t seqs, int32_t max_blocks, int32_t q_heads,
                        int32_t kv_heads, int32_t head_dim, int32_t splits, float scale) {
    int32_t lane = (int32_t)threadIdx.x, pairs = head_dim / 2;
    int32_t split = (int32_t)blockIdx.x, h = (int32_t)blockIdx.y, s = (int32_t)blockIdx.z;
    int32_t kv_head = h / (q_heads / kv_heads);
    const int32_t *table = block_tables + (size_t)s * max_blocks;
    span own = span_of(length[s], split, splits);
    const float2 *of_q = reinterpret_cast<const float2 *>(q + ((size_t)s * q_heads + h) * head_dim);
    size_t to = ((size_t)s * q_heads + h) * splits + split;
    float2 query[PAIRS], sum_v[PAIRS];
    float greatest = -FLT_MAX, sum = 0;
#pragma unroll
    for (int32_t j = 0; j < PAIRS; j++) {
        query[j] = j * 32 + lane < pairs ? of_q[j * 32 + lane] : make_float2(0, 0);
        sum_v[j] = make_float2(0, 0);
    }
    for (int32_t b = own.first; b < own.end; b++) {
        size_t at = ((size_t)table[b] * kv_heads + kv_head) * KV_BLOCK_TOKENS * pairs;
        const unsigned *key = reinterpret_cast<const unsigned *>(kpool) + at;
        const unsigned *value = reinterpret_cast<const unsigned *>(vpool) + at;
        int32_t keys = min(own.keys - b * KV_BLOCK_TOKENS, KV_BLOCK_TOKENS);
        for (int32_t p = 0; p < keys; p++, key += pairs, value += pairs) {
            float dot = 0;
#pragma unroll
            for (int32_t j = 0; j < PAIRS; j++)
                if (j * 32 + lane < pairs) {
                    float2 k = widen(key[j * 32 + lane]);
                    dot += query[j].x * k.x + query[j].y * k.y;
                }
            dot = warp_sum(dot) * scale;
            float higher = fmaxf(greatest, dot), keep = expf(greatest - higher);
            float e = expf(dot - higher);
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
    }
#pragma unroll
    for (int32_t j = 0; j < PAIRS; j++)
        if (j * 32 + lane < pairs)
            reinterpret_cast<float2 *>(partial + to * head_dim)[j * 32 + lane] = sum_v[j];
    if (lane == 0) {
        split_max[to] = sum > 0 ? greatest : 0;
        split_sum[to] = sum;
    }
}
