/* attention_prefill.cu: causal attention of a prompt. Defined in backend/kernels.h.
 *
 * Compile, from this folder: nvcc -std=c++17 -arch=sm_80 -I../../common -cubin attention_prefill.cu
 */
#include "backend/kernels.h"
// BEGIN SOLUTION
#include <float.h>
#include <mma.h>

/* A block of four warps has 16 queries of a head and takes 64 keys at a time: a KV block of 16 keys
 * is a tensor-core tile, loaded directly from the pool. Each warp computes the scores of
 * one KV block; then all threads do the online softmax; then each warp computes some of the values'
 * columns. Queries and weights are split into two bf16 each, whose products add up to 16 bits of
 * precision: keys and values are bf16, so the result is as accurate as in float. Grid: q_heads
 * by ceil(tokens / 16). Blocks of 128 threads.
 *
 * Moves: keys and values once for 16 queries and a head.
 * Does: 4 operations a query, head, key and value; twice as many multiply-adds, on tensor cores.
 * Counter: wavefronts: tiles instead of single values go through shared memory.
 */

using namespace nvcuda;

enum {
    TILE = 16, /* queries of a block, keys of a KV block, sides of a tensor-core tile */
    WARPS = 4,
    THREADS = 32 * WARPS,
    STEP = TILE * WARPS, /* keys taken at a time */
    D = KERNEL_MAX_HEAD_DIM,
    /* Rows end 8 values beyond a multiple of 32: the four rows that a warp works on at a time then
     * lie in different banks. */
    S_ROW = STEP + 8,
    O_ROW = D + 8,
    Q_ROW = D + 8,
    P_ROW = STEP + 8
};

typedef wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, bf16, wmma::row_major> tile_a;
typedef wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, bf16, wmma::col_major> tile_keys;
typedef wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, bf16, wmma::row_major> tile_values;
typedef wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> tile_sum;

struct __align__(32) shared_tiles {
    float o[TILE][O_ROW], s[TILE][S_ROW]; /* results so far, scores */
    bf16 q[2][TILE][Q_ROW];               /* upper and lower half of the queries, scaled */
    bf16 p[2][TILE][P_ROW];               /* and of the weights */
};

static __device__ void split(float v, bf16 *upper, bf16 *lower) {
    *upper = __float2bfloat16(v);
    *lower = __float2bfloat16(v - __bfloat162float(*upper));
}

/* The scores of 16 queries and the KV block at `key`, into columns col .. col + 15. */
static __device__ void score(shared_tiles *x, const bf16 *key, int32_t col, int32_t head_dim) {
    tile_sum sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int32_t i = 0; i < head_dim; i += TILE) {
        tile_a upper, lower;
        tile_keys keys;
        wmma::load_matrix_sync(keys, key + i, head_dim);
        wmma::load_matrix_sync(upper, &x->q[0][0][i], Q_ROW);
        wmma::load_matrix_sync(lower, &x->q[1][0][i], Q_ROW);
        wmma::mma_sync(sum, upper, keys, sum);
        wmma::mma_sync(sum, lower, keys, sum);
    }
    wmma::store_matrix_sync(&x->s[0][col], sum, S_ROW, wmma::mem_row_major);
}

/* Eight threads have a query: its greatest score and its sum so far. */
struct running {
    float greatest, sum;
};

/* Turns scores into weights; returns the factor for the results so far. `keys` count for this
 * thread's query; keys beyond weigh 0. */
static __device__ float weigh(shared_tiles *x, running *r, int32_t keys) {
    int32_t row = (int32_t)threadIdx.x / 8, part = (int32_t)threadIdx.x % 8;
    float higher = r->greatest, sum = 0;
    for (int32_t i = part; i < min(keys, (int32_t)STEP); i += 8)
        higher = fmaxf(higher, x->s[row][i]);
    for (int32_t offset = 4; offset > 0; offset /= 2)
        higher = fmaxf(higher, __shfl_xor_sync(~0u, higher, offset));
    for (int32_t i = part; i < STEP; i += 8) {
        float e = i < keys ? expf(x->s[row][i] - higher) : 0;
        split(e, &x->p[0][row][i], &x->p[1][row][i]);
        sum += e;
    }
    for (int32_t offset = 4; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    float keep = expf(r->greatest - higher);
    r->greatest = higher;
    r->sum = r->sum * keep + sum;
    return keep;
}

/* The values of one layer, KV head and sequence. */
struct value_blocks {
    const bf16 *pool;
    const int32_t *table;
    int32_t kv_heads, kv_head, head_dim;
};

static __device__ size_t tile_at(const value_blocks &v, int32_t b) {
    return ((size_t)v.table[b] * v.kv_heads + v.kv_head) * TILE * v.head_dim;
}

/* o[.][col ..] += weights * values of the KV blocks first .. first + n - 1. */
static __device__ void add_values(shared_tiles *x, const value_blocks &v, int32_t first, int32_t n,
                                  int32_t col) {
    tile_sum sum;
    wmma::load_matrix_sync(sum, &x->o[0][col], O_ROW, wmma::mem_row_major);
    for (int32_t b = 0; b < n; b++) {
        tile_a upper, lower;
        tile_values values;
        wmma::load_matrix_sync(values, v.pool + tile_at(v, first + b) + col, v.head_dim);
        wmma::load_matrix_sync(upper, &x->p[0][0][b * TILE], P_ROW);
        wmma::load_matrix_sync(lower, &x->p[1][0][b * TILE], P_ROW);
        wmma::mma_sync(sum, upper, values, sum);
        wmma::mma_sync(sum, lower, values, sum);
    }
    wmma::store_matrix_sync(&x->o[0][col], sum, O_ROW, wmma::mem_row_major);
}
// END SOLUTION

KERNEL attention_prefill(float *out, const float *q, const bf16 *kpool, const bf16 *vpool,
                         const int32_t *block_table, int32_t pos0, int32_t tokens, int32_t q_heads,
                         int32_t kv_heads, int32_t head_dim, float scale) {
    // BEGIN SOLUTION
    //| LAB_TODO_KERNEL("attention_prefill");
    __shared__ shared_tiles x;
    int32_t h = (int32_t)blockIdx.x, t0 = (int32_t)blockIdx.y * TILE;
    int32_t warp = (int32_t)threadIdx.x / 32, row = (int32_t)threadIdx.x / 8;
    value_blocks v = {vpool, block_table, kv_heads, h / (q_heads / kv_heads), head_dim};
    for (int32_t i = (int32_t)threadIdx.x; i < TILE * head_dim; i += THREADS) {
        int32_t r = i / head_dim, c = i % head_dim;
        size_t from = ((size_t)(t0 + r) * q_heads + h) * head_dim + c;
        split(t0 + r < tokens ? q[from] * scale : 0, &x.q[0][r][c], &x.q[1][r][c]);
        x.o[r][c] = 0;
    }
    running mine = {-FLT_MAX, 0};
    int32_t blocks = (pos0 + min(t0 + TILE, tokens) - 1) / TILE + 1; /* up to the last query's */
    for (int32_t b = 0; b < blocks; b += WARPS) {
        int32_t n = min(blocks - b, (int32_t)WARPS);
        __syncthreads(); /* queries are loaded, and the previous weights were used */
        if (warp < n) score(&x, kpool + tile_at(v, b + warp), warp * TILE, head_dim);
        __syncthreads();
        float keep = weigh(&x, &mine, min(pos0 + t0 + row + 1, blocks * TILE) - b * TILE);
        for (int32_t i = (int32_t)threadIdx.x % 8; i < head_dim; i += 8) x.o[row][i] *= keep;
        __syncthreads();
        for (int32_t col = warp * TILE; col < head_dim; col += STEP) add_values(&x, v, b, n, col);
    }
    __syncthreads();
    if (t0 + row >= tokens) return;
    float *to = out + ((size_t)(t0 + row) * q_heads + h) * head_dim;
    for (int32_t i = (int32_t)threadIdx.x % 8; i < head_dim; i += 8) to[i] = x.o[row][i] / mine.sum;
    // END SOLUTION
}
