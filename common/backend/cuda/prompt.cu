/* prompt.cu: see prompt.cuh.
 *
 * A block has 64 queries of a head, each of its four warps 16 of them; all share 32 keys and values
 * at a time in shared memory. A warp's queries and results stay in registers, as fragments: scores
 * go through shared memory, because the softmax needs whole rows.
 *
 * Where an element lies in a fragment is not defined, but it is the same place in all fragments of
 * one type. So a fragment that is loaded from the row numbers tells the row of every element, and
 * with it the factor that the softmax has for it.
 */
#include "backend/cuda/prompt.cuh"

#include <float.h>
#include <mma.h>

using namespace nvcuda;

enum {
    TILE = 16, /* queries of a warp, keys of a KV block, sides of a tensor-core tile */
    WARPS = PROMPT_THREADS / 32,
    STEP = 32, /* keys taken at a time */
    BLOCKS = STEP / TILE,
    TILES = KERNEL_MAX_HEAD_DIM / TILE,
    ROW = KERNEL_MAX_HEAD_DIM + 8, /* the rows of a tile then lie in different banks */
    S_ROW = STEP + 4,
    P_ROW = STEP + 8,
    EACH = TILE * TILE / 32 /* elements of a tile that a lane has */
};
static_assert(PROMPT_QUERIES == WARPS * TILE && PROMPT_QUERIES == 2 * STEP, "see struct tiles");
static_assert(KV_BLOCK_TOKENS == 16 && TILE == 16, "a KV block is a tile");

typedef wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, bf16, wmma::row_major> tile_a;
typedef wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, bf16, wmma::col_major> tile_keys;
typedef wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, bf16, wmma::row_major> tile_values;
typedef wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> tile_sum;

struct __align__(32) tiles {
    bf16 rows[2 * STEP][ROW];    /* first the queries; then keys, and values below them */
    float s[WARPS][TILE][S_ROW]; /* scores */
    bf16 p[WARPS][TILE][P_ROW];  /* weights */
    float factor[WARPS][TILE];
    float key_scale[STEP], value_scale[STEP];
};

/* The cache as one KV head sees it. */
struct cached {
    const void *keys, *values;
    const float *key_scales, *value_scales;
    const int32_t *table;
    int32_t kv_heads, kv_head, head_dim, end; /* end: tokens that may be read */
};

static __device__ unsigned two(float low, float high) {
    return (unsigned)__bfloat16_as_ushort(__float2bfloat16(low)) |
           (unsigned)__bfloat16_as_ushort(__float2bfloat16(high)) << 16;
}

static __device__ void load_queries(tiles *x, const float *q, int32_t t0, int32_t tokens,
                                    int32_t stride, int32_t head_dim) {
    int32_t c = (int32_t)threadIdx.x % 32 * 4;
    if (c >= head_dim) return;
    for (int32_t r = (int32_t)threadIdx.x / 32; r < PROMPT_QUERIES; r += WARPS) {
        float4 v = make_float4(0, 0, 0, 0);
        if (t0 + r < tokens)
            v = *reinterpret_cast<const float4 *>(q + (size_t)(t0 + r) * stride + c);
        *reinterpret_cast<uint2 *>(&x->rows[r][c]) = make_uint2(two(v.x, v.y), two(v.z, v.w));
    }
}

/* Eight values of a pool, as bf16. */
static __device__ uint4 eight(const void *pool, bool codes, size_t at) {
    if (!codes) return *reinterpret_cast<const uint4 *>((const bf16 *)pool + at);
    const char4 *c = reinterpret_cast<const char4 *>((const int8_t *)pool + at);
    char4 a = c[0], b = c[1];
    return make_uint4(two(a.x, a.y), two(a.z, a.w), two(b.x, b.y), two(b.z, b.w));
}

/* Keys and values of the tokens from `base` on; sixteen threads have a row. Those behind the end
 * are zero: a weight of zero would not hide a NaN. */
static __device__ void load_step(tiles *x, const cached &of, int32_t base) {
    int32_t c = (int32_t)threadIdx.x % 16 * 8;
    for (int32_t r = (int32_t)threadIdx.x / 16; r < STEP; r += PROMPT_THREADS / 16) {
        int32_t token = base + r;
        bool there = token < of.end;
        size_t row = 0;
        if (there)
            row = ((size_t)of.table[token / TILE] * of.kv_heads + of.kv_head) * TILE + token % TILE;
        if (c == 0) {
            x->key_scale[r] = there && of.key_scales ? of.key_scales[row] : 1;
            x->value_scale[r] = there && of.key_scales ? of.value_scales[row] : 1;
        }
        if (c >= of.head_dim) continue;
        uint4 key = make_uint4(0, 0, 0, 0), value = key;
        if (there) key = eight(of.keys, of.key_scales, row * of.head_dim + c);
        if (there) value = eight(of.values, of.key_scales, row * of.head_dim + c);
        *reinterpret_cast<uint4 *>(&x->rows[r][c]) = key;
        *reinterpret_cast<uint4 *>(&x->rows[STEP + r][c]) = value;
    }
}

/* The scores of a warp's queries, not scaled yet. */
static __device__ void score(tiles *x, int32_t warp, const tile_a *query, int32_t n) {
#pragma unroll
    for (int32_t b = 0; b < BLOCKS; b++) {
        tile_sum sum;
        wmma::fill_fragment(sum, 0.0f);
#pragma unroll
        for (int32_t c = 0; c < TILES; c++) {
            if (c >= n) break;
            tile_keys keys;
            wmma::load_matrix_sync(keys, &x->rows[b * TILE][c * TILE], ROW);
            wmma::mma_sync(sum, query[c], keys, sum);
        }
        wmma::store_matrix_sync(&x->s[warp][0][b * TILE], sum, S_ROW, wmma::mem_row_major);
    }
    __syncwarp();
}

/* Two lanes have a query: what it sees, its greatest score and its sum so far. */
struct running {
    int32_t first, last;
    float greatest, sum;
};

/* Turns scores into weights, and leaves the factor for the results so far. */
static __device__ void weigh(tiles *x, int32_t warp, running *r, int32_t base, float scale) {
    int32_t lane = (int32_t)threadIdx.x % 32, row = lane / 2;
    float score[STEP / 2], higher = r->greatest, sum = 0;
#pragma unroll
    for (int32_t i = 0; i < STEP / 2; i++) {
        int32_t j = lane % 2 + 2 * i;
        bool sees = base + j >= r->first && base + j <= r->last;
        score[i] = sees ? x->s[warp][row][j] * scale * x->key_scale[j] : -FLT_MAX;
        higher = fmaxf(higher, score[i]);
    }
    higher = fmaxf(higher, __shfl_xor_sync(~0u, higher, 1));
#pragma unroll
    for (int32_t i = 0; i < STEP / 2; i++) {
        int32_t j = lane % 2 + 2 * i;
        float e = score[i] == -FLT_MAX ? 0 : expf(score[i] - higher);
        x->p[warp][row][j] = __float2bfloat16(e * x->value_scale[j]);
        sum += e;
    }
    sum += __shfl_xor_sync(~0u, sum, 1);
    float keep = expf(r->greatest - higher);
    r->greatest = higher;
    r->sum = r->sum * keep + sum;
    if (lane % 2 == 0) x->factor[warp][row] = keep;
    __syncwarp();
}

/* o = o * factor of its row + weights * values. */
static __device__ void add_values(tiles *x, int32_t warp, tile_sum *o, const int32_t *row,
                                  int32_t n) {
    float factor[EACH];
    tile_a weights[BLOCKS];
#pragma unroll
    for (int32_t i = 0; i < EACH; i++) factor[i] = x->factor[warp][row[i]];
#pragma unroll
    for (int32_t b = 0; b < BLOCKS; b++)
        wmma::load_matrix_sync(weights[b], &x->p[warp][0][b * TILE], P_ROW);
#pragma unroll
    for (int32_t c = 0; c < TILES; c++) {
        if (c >= n) break;
#pragma unroll
        for (int32_t i = 0; i < EACH; i++) o[c].x[i] *= factor[i];
#pragma unroll
        for (int32_t b = 0; b < BLOCKS; b++) {
            tile_values values;
            wmma::load_matrix_sync(values, &x->rows[STEP + b * TILE][c * TILE], ROW);
            wmma::mma_sync(o[c], weights[b], values, o[c]);
        }
    }
}

/* The row of each element that a lane has in a tile_sum. */
static __device__ void find_rows(tiles *x, int32_t warp, int32_t *row) {
    int32_t lane = (int32_t)threadIdx.x % 32;
    for (int32_t i = lane; i < TILE * TILE; i += 32)
        x->s[warp][i / TILE][i % TILE] = (float)(i / TILE);
    __syncwarp();
    tile_sum numbers;
    wmma::load_matrix_sync(numbers, &x->s[warp][0][0], S_ROW, wmma::mem_row_major);
#pragma unroll
    for (int32_t i = 0; i < EACH; i++) row[i] = (int32_t)numbers.x[i];
    __syncwarp();
}

/* Writes a warp's rows, those below `rows`, divided by their sums. `to`: the first one's head. */
static __device__ void put_results(tiles *x, int32_t warp, tile_sum *o, const int32_t *row,
                                   const running &r, int32_t rows, float *to, int32_t stride,
                                   int32_t n) {
    int32_t lane = (int32_t)threadIdx.x % 32;
    __syncwarp(); /* the last step's factors were read */
    if (lane % 2 == 0) x->factor[warp][lane / 2] = 1 / r.sum;
#pragma unroll
    for (int32_t c = 0; c < TILES; c++) {
        if (c >= n) break;
        __syncwarp(); /* the factors are there, and the tile before was read */
#pragma unroll
        for (int32_t i = 0; i < EACH; i++) o[c].x[i] *= x->factor[warp][row[i]];
        wmma::store_matrix_sync(&x->s[warp][0][0], o[c], S_ROW, wmma::mem_row_major);
        __syncwarp();
        if (lane / 2 >= rows) continue;
        float *at = to + (size_t)(lane / 2) * stride + c * TILE + lane % 2 * 8;
        const float *from = &x->s[warp][lane / 2][lane % 2 * 8];
        for (int32_t i = 0; i < 8; i += 4)
            *reinterpret_cast<float4 *>(at + i) = *reinterpret_cast<const float4 *>(from + i);
    }
}

static __device__ int32_t first_seen(int32_t position, int32_t window) {
    return window && position >= window ? position - window + 1 : 0;
}

KERNEL attention_prompt(float *out, const float *q, const void *kpool, const void *vpool,
                        const float *kscale, const float *vscale, const int32_t *table,
                        int32_t pos0, int32_t tokens, int32_t q_heads, int32_t kv_heads,
                        int32_t head_dim, int32_t window, float scale) {
    __shared__ tiles x;
    int32_t h = (int32_t)blockIdx.x, warp = (int32_t)threadIdx.x / 32;
    int32_t t0 = (int32_t)(gridDim.y - 1 - blockIdx.y) * PROMPT_QUERIES; /* the longest first */
    int32_t stride = q_heads * head_dim, n = head_dim / TILE, end = pos0 + tokens;
    load_queries(&x, q + (size_t)h * head_dim, t0, tokens, stride, head_dim);
    int32_t row[EACH];
    find_rows(&x, warp, row);
    __syncthreads();
    tile_a query[TILES];
    tile_sum o[TILES];
#pragma unroll
    for (int32_t c = 0; c < TILES; c++) {
        wmma::fill_fragment(o[c], 0.0f);
        if (c < n) wmma::load_matrix_sync(query[c], &x.rows[warp * TILE][c * TILE], ROW);
    }
    int32_t p0 = pos0 + t0 + warp * TILE; /* positions of the warp's queries: p0 .. p0 + 15 */
    int32_t own = min(p0 + (int32_t)threadIdx.x % 32 / 2, end - 1);
    running mine = {first_seen(own, window), own, -FLT_MAX, 0};
    cached of = {kpool,
                 vpool,
                 kscale,
                 vscale,
                 table,
                 kv_heads,
                 h / (q_heads / kv_heads),
                 head_dim,
                 min(end, pos0 + t0 + PROMPT_QUERIES)};
    for (int32_t base = first_seen(pos0 + t0, window) / STEP * STEP; base < of.end; base += STEP) {
        __syncthreads(); /* the queries, or the step before, were read */
        load_step(&x, of, base);
        __syncthreads();
        if (base >= p0 + TILE || base + STEP <= first_seen(p0, window)) continue; /* sees none */
        score(&x, warp, query, n);
        weigh(&x, warp, &mine, base, scale);
        add_values(&x, warp, o, row, n);
    }
    int32_t rows = tokens - t0 - warp * TILE;
    put_results(&x, warp, o, row, mine, rows,
                out + (size_t)(t0 + warp * TILE) * stride + h * head_dim, stride, n);
}
