/* attention_prefill_3.cu: causal attention of a prompt, version 3 of 4.
 *
 * 16 queries of a head share each block of 16 keys, which one load brings into shared memory; a
 * warp has four of the queries. For the scores a lane has one key and half of its values; rows are
 * padded to 2 words beyond a multiple of 32, so that the 32 lanes hit 32 banks. Grid: q_heads by
 * ceil(tokens / 16). Blocks of 128 threads.
 *
 * Moves: keys and values once for 16 queries and a head.
 * Does: 4 operations a query, head, key and value.
 * Counter: bytes: keys and values once for 16 queries.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin \
 *     solutions/03_kernels/steps/attention_prefill_3.cu
 */
#include "backend/kernels.h"

#include <float.h>

/* Two bf16 in 4 bytes: a bf16 is the upper half of a float. */
static __device__ float2 widen(unsigned two) {
    return make_float2(__uint_as_float(two << 16), __uint_as_float(two & 0xffff0000u));
}

enum {
    QUERIES = 16,
    THREADS = 128,
    MINE = QUERIES / (THREADS / 32), /* queries of a warp */
    PAIRS = KERNEL_MAX_HEAD_DIM / 64,
    ROW = KERNEL_MAX_HEAD_DIM / 2 + 2 /* words of a key's row */
};

/* A lane's state of one query: the maximum and the sum are the same in all lanes; the values are
 * the lane's. */
struct running {
    float greatest, sum;
    float2 v[PAIRS];
};

/* One block of keys for one query: `keys` of them count. */
static __device__ void attend(running &r, const float *query, const unsigned (*key)[ROW],
                              const unsigned (*value)[ROW], int32_t keys, int32_t pairs,
                              float scale) {
    int32_t lane = (int32_t)threadIdx.x % 32, mine = lane / 2, half = lane % 2;
    float s = 0;
    for (int32_t i = half; i < pairs; i += 2) {
        float2 k = widen(key[mine][i]);
        s += query[2 * i] * k.x + query[2 * i + 1] * k.y;
    }
    s = (s + __shfl_xor_sync(~0u, s, 1)) * scale;
    if (mine >= keys) s = -FLT_MAX;
    float higher = fmaxf(r.greatest, s);
    for (int32_t offset = 16; offset > 1; offset /= 2)
        higher = fmaxf(higher, __shfl_xor_sync(~0u, higher, offset));
    float keep = expf(r.greatest - higher), e = mine < keys ? expf(s - higher) : 0, sum = e;
    for (int32_t offset = 16; offset > 1; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    r.greatest = higher;
    r.sum = r.sum * keep + sum;
#pragma unroll
    for (int32_t j = 0; j < PAIRS; j++) {
        r.v[j].x *= keep;
        r.v[j].y *= keep;
    }
    for (int32_t p = 0; p < keys; p++) {
        float weight = __shfl_sync(~0u, e, 2 * p);
#pragma unroll
        for (int32_t j = 0; j < PAIRS; j++)
            if (j * 32 + lane < pairs) {
                float2 v = widen(value[p][j * 32 + lane]);
                r.v[j].x += weight * v.x;
                r.v[j].y += weight * v.y;
            }
    }
}

KERNEL attention_prefill(float *out, const float *q, const bf16 *kpool, const bf16 *vpool,
                         const int32_t *block_table, int32_t pos0, int32_t tokens, int32_t q_heads,
                         int32_t kv_heads, int32_t head_dim, float scale) {
    __shared__ float query[QUERIES][KERNEL_MAX_HEAD_DIM];
    __shared__ unsigned key[KV_BLOCK_TOKENS][ROW], value[KV_BLOCK_TOKENS][ROW];
    int32_t h = (int32_t)blockIdx.x, t0 = (int32_t)blockIdx.y * QUERIES, pairs = head_dim / 2;
    int32_t first = (int32_t)threadIdx.x / 32 * MINE, lane = (int32_t)threadIdx.x % 32;
    for (int32_t i = (int32_t)threadIdx.x; i < QUERIES * head_dim; i += THREADS) {
        int32_t t = t0 + i / head_dim;
        query[i / head_dim][i % head_dim] =
            t < tokens ? q[((size_t)t * q_heads + h) * head_dim + i % head_dim] : 0;
    }
    running r[MINE];
#pragma unroll
    for (int32_t m = 0; m < MINE; m++) r[m] = {-FLT_MAX, 0, {}};
    int32_t last = pos0 + min(t0 + QUERIES, tokens) - 1; /* position of the tile's last query */
    for (int32_t b = 0; b <= last / KV_BLOCK_TOKENS; b++) {
        size_t block = (size_t)block_table[b] * kv_heads + h / (q_heads / kv_heads);
        const unsigned *k =
            reinterpret_cast<const unsigned *>(kpool) + block * KV_BLOCK_TOKENS * pairs;
        const unsigned *v =
            reinterpret_cast<const unsigned *>(vpool) + block * KV_BLOCK_TOKENS * pairs;
        __syncthreads(); /* the previous block was used, and the queries are loaded */
        for (int32_t i = (int32_t)threadIdx.x; i < KV_BLOCK_TOKENS * pairs; i += THREADS) {
            key[i / pairs][i % pairs] = k[i];
            value[i / pairs][i % pairs] = v[i];
        }
        __syncthreads();
#pragma unroll
        for (int32_t m = 0; m < MINE; m++) {
            int32_t keys = min(pos0 + t0 + first + m + 1 - b * KV_BLOCK_TOKENS, KV_BLOCK_TOKENS);
            if (keys > 0) attend(r[m], query[first + m], key, value, keys, pairs, scale);
        }
    }
#pragma unroll
    for (int32_t m = 0; m < MINE; m++) {
        int32_t t = t0 + first + m;
        if (t >= tokens) continue;
        float2 *to = reinterpret_cast<float2 *>(out + ((size_t)t * q_heads + h) * head_dim);
#pragma unroll
        for (int32_t j = 0; j < PAIRS; j++)
            if (j * 32 + lane < pairs)
                to[j * 32 + lane] = make_float2(r[m].v[j].x / r[m].sum, r[m].v[j].y / r[m].sum);
    }
}
