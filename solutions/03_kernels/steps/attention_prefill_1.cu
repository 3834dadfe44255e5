/* attention_prefill_1.cu: causal attention of a prompt, version 1 of 4.
 *
 * A block a query and head: a thread a key computes the scores, all of which are in shared
 * memory; then a thread a value sums up. Grid: q_heads by tokens. Blocks of 128 threads; shared
 * memory for pos0 + tokens scores.
 *
 * Moves: about 32 bytes a key's value, and 2 a value's.
 * Does: 4 operations a query, head, key and value.
 * Counter: a sector for every two bytes of a key.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin \
 *     solutions/03_kernels/steps/attention_prefill_1.cu
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

enum { THREADS = 128 };

KERNEL attention_prefill(float *out, const float *q, const bf16 *kpool, const bf16 *vpool,
                         const int32_t *block_table, int32_t pos0, int32_t tokens, int32_t q_heads,
                         int32_t kv_heads, int32_t head_dim, float scale) {
    extern __shared__ float score[]; /* (pos0 + tokens) */
    __shared__ float part[THREADS];
    int32_t h = (int32_t)blockIdx.x, t = (int32_t)blockIdx.y, keys = pos0 + t + 1;
    int32_t kv_head = h / (q_heads / kv_heads);
    const float *query = q + ((size_t)t * q_heads + h) * head_dim;
    float greatest = -INFINITY, sum = 0;
    for (int32_t p = (int32_t)threadIdx.x; p < keys; p += THREADS) {
        const bf16 *key = kpool + cache_at(block_table, p, kv_head, kv_heads, head_dim);
        float s = 0;
        for (int32_t i = 0; i < head_dim; i++) s += query[i] * __bfloat162float(key[i]);
        score[p] = s * scale;
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
            v += score[p] *
                 __bfloat162float(vpool[cache_at(block_table, p, kv_head, kv_heads, head_dim) + i]);
        out[((size_t)t * q_heads + h) * head_dim + i] = v / sum;
    }
}
