/* attention_decode.cu: attention of one new token of each sequence, the keys split. Defined in
 * backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin attention_decode.cu
 */
#include "backend/kernels.h"
// BEGIN SOLUTION
#include <float.h>

/* The query heads that share a KV head share its keys too: a block has a warp a query head of the
 * group, and each block of 16 keys is read once for all of them, into shared memory. For the scores
 * a lane has one key and half of its values; rows are padded to 2 words beyond a multiple of 32, so
 * that the 32 lanes hit 32 banks. Grid: splits by kv_heads by seqs. Blocks of 32 threads for every
 * query head of a group.
 *
 * Moves: keys and values once, the partial results.
 * Does: 4 operations a head, key and value.
 * Counter: bytes: keys and values once a KV head instead of once a query head.
 */

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

enum {
    PAIRS = KERNEL_MAX_HEAD_DIM / 64, /* pairs of values that a lane has */
    ROW = KERNEL_MAX_HEAD_DIM / 2 + 2 /* words of a key's row in shared memory */
};

/* A lane's state of its warp's query: the maximum and the sum are the same in all lanes; the values
 * are the lane's. */
struct running {
    float greatest, sum;
    float2 v[PAIRS];
};

/* The scores of one block of keys: that of key lane / 2, the same on both of its lanes. */
static __device__ float score(const float2 *query, const unsigned (*key)[ROW], int32_t pairs) {
    int32_t lane = (int32_t)threadIdx.x % 32;
    float s = 0;
    for (int32_t i = lane % 2; i < pairs; i += 2) {
        float2 k = widen(key[lane / 2][i]);
        s += query[i].x * k.x + query[i].y * k.y;
    }
    return s + __shfl_xor_sync(~0u, s, 1);
}

/* Adds a block of keys, of which `keys` count; s is the lane's score. */
static __device__ void take(running &r, float s, const unsigned (*value)[ROW], int32_t keys,
                            int32_t pairs) {
    int32_t lane = (int32_t)threadIdx.x % 32;
    bool counts = lane / 2 < keys;
    float higher = counts ? fmaxf(r.greatest, s) : r.greatest;
    for (int32_t offset = 16; offset > 1; offset /= 2)
        higher = fmaxf(higher, __shfl_xor_sync(~0u, higher, offset));
    float keep = expf(r.greatest - higher), e = counts ? expf(s - higher) : 0, sum = e;
    for (int32_t offset = 16; offset > 1; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    r.greatest = higher;
    r.sum = r.sum * keep + sum;
#pragma unroll
    for (int32_t j = 0; j < PAIRS; j++) r.v[j] = make_float2(r.v[j].x * keep, r.v[j].y * keep);
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

/* Loads a KV block with all threads, 8 bytes a thread. */
static __device__ void load_block(unsigned (*to)[ROW], const bf16 *from, int32_t pairs) {
    const uint2 *in = reinterpret_cast<const uint2 *>(from);
    int32_t a_row = pairs / 2;
    for (int32_t i = (int32_t)threadIdx.x; i < KV_BLOCK_TOKENS * a_row; i += (int32_t)blockDim.x)
        reinterpret_cast<uint2 *>(to[i / a_row])[i % a_row] = in[i];
}
// END SOLUTION

KERNEL attention_decode(float *partial, float *split_max, float *split_sum, const float *q,
                        const bf16 *kpool, const bf16 *vpool, const int32_t *block_tables,
                        const int32_t *length, int32_t seqs, int32_t max_blocks, int32_t q_heads,
                        int32_t kv_heads, int32_t head_dim, int32_t splits, float scale) {
    // BEGIN SOLUTION
    //| LAB_TODO_KERNEL("attention_decode");
    extern __shared__ float2 queries[]; /* one row a warp */
    __shared__ __align__(8) unsigned key[KV_BLOCK_TOKENS][ROW];
    __shared__ __align__(8) unsigned value[KV_BLOCK_TOKENS][ROW];
    int32_t lane = (int32_t)threadIdx.x % 32, pairs = head_dim / 2;
    int32_t split = (int32_t)blockIdx.x, kv_head = (int32_t)blockIdx.y, s = (int32_t)blockIdx.z;
    int32_t h = kv_head * (q_heads / kv_heads) + (int32_t)threadIdx.x / 32;
    const float2 *of_q = reinterpret_cast<const float2 *>(q + ((size_t)s * q_heads + h) * head_dim);
    float2 *query = queries + (int32_t)threadIdx.x / 32 * pairs;
    for (int32_t i = lane; i < pairs; i += 32) query[i] = of_q[i]; /* a barrier follows */
    span own = span_of(length[s], split, splits);
    running r = {-FLT_MAX, 0, {}};
    for (int32_t b = own.first; b < own.end; b++) {
        size_t at = ((size_t)block_tables[(size_t)s * max_blocks + b] * kv_heads + kv_head) *
                    KV_BLOCK_TOKENS * head_dim;
        __syncthreads(); /* the previous block was used */
        load_block(key, kpool + at, pairs);
        load_block(value, vpool + at, pairs);
        __syncthreads();
        int32_t keys = min(own.keys - b * KV_BLOCK_TOKENS, KV_BLOCK_TOKENS);
        take(r, score(query, key, pairs) * scale, value, keys, pairs);
    }
    size_t to = ((size_t)s * q_heads + h) * splits + split;
#pragma unroll
    for (int32_t j = 0; j < PAIRS; j++)
        if (j * 32 + lane < pairs)
            reinterpret_cast<float2 *>(partial + to * head_dim)[j * 32 + lane] = r.v[j];
    if (lane == 0) {
        split_max[to] = r.sum > 0 ? r.greatest : 0;
        split_sum[to] = r.sum;
    }
    // END SOLUTION
}
