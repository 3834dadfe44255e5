/* attention_decode_1.cu: attention of one new token, version 1 of 3.
 *
 * A block a split and query head: a thread a key computes the scores, all of which are in shared
 * memory; then a thread a value sums up. Grid: splits by q_heads by seqs. Blocks of 128 threads;
 * shared memory for a split's scores.
 *
 * Moves: about 32 bytes a key's value, and 2 a value's.
 * Does: 4 operations a head, key and value.
 * Counter: a sector for every two bytes of a key.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin \
 *     solutions/03_kernels/steps/attention_decode_1.cu
 */
#include "backend/kernels.h"

/* Where the key and the value at a position begin in the pools. */
static __device__ size_t cache_at(const int32_t *table, int32_t position, int32_t kv_head,
                                  int32_t kv_heads, int32_t head_dim) {
    size_t block = (size_t)table[position / KV_BLOCK_TOKENS];
    return ((block * kv_heads + kv_head) * KV_BLOCK_TOKENS + position % KV_BLOCK_TOKENS) * head_dim;
}

/* The block's maximum or sum, on every thread. `part` has a place for every thread. */
static __device__ float block_max(float v, float *part) {
    part[threadIdx.x] = v;
    __syncthreads();
    for (int32_t half = (int32_t)blockDim.x / 2; half > 0; half /= 2) {
        if ((int32_t)threadIdx.x < half)
            part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
        __syncthreads();
    }
    v = part[0];
    __syncthreads();
    return v;
}
static __device__ float block_sum(float v, float *part) {
    part[threadIdx.x] = v;
    __syncthreads();
    for (int32_t half = (int32_t)blockDim.x / 2; half > 0; half /= 2) {
        if ((int32_t)threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    v = part[0];
    __syncthreads();
    return v;
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

enum { THREADS = 128 };

KERNEL attention_decode(float *partial, float *split_max, float *split_sum, const float *q,
                        const bf16 *kpool, const bf16 *vpool, const int32_t *block_tables,
                        const int32_t *length, int32_t seqs, int32_t max_blocks, int32_t q_heads,
                        int32_t kv_heads, int32_t head_dim, int32_t splits, float scale) {
    extern __shared__ float score[];
    __shared__ float part[THREADS];
    int32_t split = (int32_t)blockIdx.x, h = (int32_t)blockIdx.y, s = (int32_t)blockIdx.z;
    int32_t kv_head = h / (q_heads / kv_heads);
    const int32_t *table = block_tables + (size_t)s * max_blocks;
    span own = span_of(length[s], split, splits);
    int32_t first = own.first * KV_BLOCK_TOKENS;
    int32_t keys = min(own.end * KV_BLOCK_TOKENS, own.keys) - first;
    const float *query = q + ((size_t)s * q_heads + h) * head_dim;
    size_t to = ((size_t)s * q_heads + h) * splits + split;
    float greatest = -INFINITY, sum = 0;
    for (int32_t p = (int32_t)threadIdx.x; p < keys; p += THREADS) {
        const bf16 *key = kpool + cache_at(table, first + p, kv_head, kv_heads, head_dim);
        float dot = 0;
        for (int32_t i = 0; i < head_dim; i++) dot += query[i] * __bfloat162float(key[i]);
        score[p] = dot * scale;
        greatest = fmaxf(greatest, score[p]);
    }
    greatest = block_max(greatest, part);
    for (int32_t p = (int32_t)threadIdx.x; p < keys; p += THREADS) {
        score[p] = expf(score[p] - greatest);
        sum += score[p];
    }
    sum = block_sum(sum, part);
    for (int32_t i = (int32_t)threadIdx.x; i < head_dim; i += THREADS) {
        float v = 0;
        for (int32_t p = 0; p < keys; p++)
            v += score[p] * __bfloat162float(
                                vpool[cache_at(table, first + p, kv_head, kv_heads, head_dim) + i]);
        partial[to * head_dim + i] = v;
    }
    if (threadIdx.x == 0) {
        split_max[to] = keys > 0 ? greatest : 0;
        split_sum[to] = sum;
    }
}
