/* paged.cu: see paged.cuh. */
#include "backend/cuda/paged.cuh"

#include <float.h>

enum { LANE_VALUES = KERNEL_MAX_HEAD_DIM / 32 };

static __device__ float warp_sum(float v) {
    for (int32_t offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(~0u, v, offset);
    return v;
}
static __device__ float warp_max(float v) {
    for (int32_t offset = 16; offset > 0; offset /= 2)
        v = fmaxf(v, __shfl_xor_sync(~0u, v, offset));
    return v;
}

/* Writes a head whose values a lane has at lane + 32 j, below head_dim, as codes and a scale. */
static __device__ void store_codes(int8_t *codes, float *scale, const float *x, int32_t head_dim) {
    int32_t lane = (int32_t)threadIdx.x % 32;
    float most = 0;
#pragma unroll
    for (int32_t j = 0; j < LANE_VALUES; j++)
        if (lane + 32 * j < head_dim) most = fmaxf(most, fabsf(x[j]));
    most = warp_max(most);
    float step = most / 127;
#pragma unroll
    for (int32_t j = 0; j < LANE_VALUES; j++)
        if (lane + 32 * j < head_dim)
            codes[lane + 32 * j] = (int8_t)(step > 0 ? rintf(x[j] / step) : 0);
    if (lane == 0) *scale = step;
}

/* Value i of a head after rotation. */
static __device__ float rotated(const float *x, const float *cosines, const float *sines, int32_t i,
                                int32_t half) {
    return i < half ? x[i] * cosines[i] - x[i + half] * sines[i]
                    : x[i] * cosines[i - half] + x[i - half] * sines[i - half];
}

KERNEL rope_int8(float *q, int8_t *kpool, int8_t *vpool, float *kscale, float *vscale,
                 const float *k, const float *v, const float *cosines, const float *sines,
                 const int32_t *position, const int32_t *slot, int32_t tokens, int32_t q_heads,
                 int32_t kv_heads, int32_t head_dim) {
    int32_t warp = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int32_t lane = (int32_t)threadIdx.x % 32, half = head_dim / 2;
    int32_t heads = q_heads + kv_heads, h = warp % heads, t = warp / heads;
    if (t >= tokens) return; /* the whole warp */
    const float *x = h < q_heads ? q + ((size_t)t * q_heads + h) * head_dim
                                 : k + ((size_t)t * kv_heads + h - q_heads) * head_dim;
    size_t angle = (size_t)position[t] * half;
    float turned[LANE_VALUES];
#pragma unroll
    for (int32_t j = 0; j < LANE_VALUES; j++)
        turned[j] = lane + 32 * j < head_dim
                        ? rotated(x, cosines + angle, sines + angle, lane + 32 * j, half)
                        : 0;
    if (h < q_heads) {
        __syncwarp(); /* all have read */
#pragma unroll
        for (int32_t j = 0; j < LANE_VALUES; j++)
            if (lane + 32 * j < head_dim)
                q[((size_t)t * q_heads + h) * head_dim + lane + 32 * j] = turned[j];
        return;
    }
    h -= q_heads;
    size_t row = ((size_t)(slot[t] / KV_BLOCK_TOKENS) * kv_heads + h) * KV_BLOCK_TOKENS +
                 slot[t] % KV_BLOCK_TOKENS;
    store_codes(kpool + row * head_dim, kscale + row, turned, head_dim);
#pragma unroll
    for (int32_t j = 0; j < LANE_VALUES; j++)
        turned[j] =
            lane + 32 * j < head_dim ? v[((size_t)t * kv_heads + h) * head_dim + lane + 32 * j] : 0;
    store_codes(vpool + row * head_dim, vscale + row, turned, head_dim);
}

/* Loads a KV block with all threads, four values a thread; scale NULL: bf16. */
static __device__ void load_block(float *to, const void *pool, const float *scale, size_t row,
                                  int32_t head_dim) {
    for (int32_t i = (int32_t)threadIdx.x * 4; i < KV_BLOCK_TOKENS * head_dim;
         i += (int32_t)blockDim.x * 4) {
        size_t at = row * head_dim + i;
        float4 v;
        if (scale) {
            char4 c = *reinterpret_cast<const char4 *>((const int8_t *)pool + at);
            float s = scale[row + i / head_dim];
            v = make_float4(c.x * s, c.y * s, c.z * s, c.w * s);
        } else {
            uint2 c = *reinterpret_cast<const uint2 *>((const bf16 *)pool + at);
            v = make_float4(__uint_as_float(c.x << 16), __uint_as_float(c.x & 0xffff0000u),
                            __uint_as_float(c.y << 16), __uint_as_float(c.y & 0xffff0000u));
        }
        *reinterpret_cast<float4 *>(to + i) = v;
    }
}

/* A lane's state of its warp's query. */
struct running {
    float greatest, sum, v[LANE_VALUES];
};

static __device__ void take(running &r, float s, const float *value, int32_t head_dim) {
    int32_t lane = (int32_t)threadIdx.x % 32;
    float higher = fmaxf(r.greatest, s), keep = expf(r.greatest - higher), e = expf(s - higher);
    r.greatest = higher;
    r.sum = r.sum * keep + e;
#pragma unroll
    for (int32_t j = 0; j < LANE_VALUES; j++)
        if (lane + 32 * j < head_dim) r.v[j] = r.v[j] * keep + e * value[lane + 32 * j];
}

KERNEL attention_paged(float *partial, float *split_max, float *split_sum, const float *q,
                       const void *kpool, const void *vpool, const float *kscale,
                       const float *vscale, const int32_t *table, int32_t table_stride,
                       const int32_t *position, int32_t q_heads, int32_t kv_heads, int32_t head_dim,
                       int32_t window, float scale) {
    extern __shared__ __align__(16) float shared[];
    float *key = shared, *value = shared + KV_BLOCK_TOKENS * head_dim;
    int32_t lane = (int32_t)threadIdx.x % 32, split = (int32_t)blockIdx.x;
    int32_t splits = (int32_t)gridDim.x, kv_head = (int32_t)blockIdx.y, row = (int32_t)blockIdx.z;
    int32_t h = kv_head * (q_heads / kv_heads) + (int32_t)threadIdx.x / 32;
    int32_t last = position[row], first = window && last >= window ? last - window + 1 : 0;
    int32_t low = first / KV_BLOCK_TOKENS, blocks = last / KV_BLOCK_TOKENS + 1 - low;
    int32_t each = (blocks + splits - 1) / splits, end = min((split + 1) * each, blocks) + low;
    const float *of_q = q + ((size_t)row * q_heads + h) * head_dim;
    float query[LANE_VALUES];
#pragma unroll
    for (int32_t j = 0; j < LANE_VALUES; j++)
        query[j] = lane + 32 * j < head_dim ? of_q[lane + 32 * j] : 0;
    running r = {-FLT_MAX, 0, {}};
    for (int32_t b = low + split * each; b < end; b++) {
        size_t at =
            ((size_t)table[(size_t)row * table_stride + b] * kv_heads + kv_head) * KV_BLOCK_TOKENS;
        __syncthreads(); /* the previous block was used */
        load_block(key, kpool, kscale, at, head_dim);
        load_block(value, vpool, vscale, at, head_dim);
        __syncthreads();
        for (int32_t i = 0; i < KV_BLOCK_TOKENS; i++) {
            int32_t p = b * KV_BLOCK_TOKENS + i;
            if (p < first || p > last) continue; /* the whole block of threads */
            float s = 0;
#pragma unroll
            for (int32_t j = 0; j < LANE_VALUES; j++)
                if (lane + 32 * j < head_dim) s += query[j] * key[i * head_dim + lane + 32 * j];
            take(r, warp_sum(s) * scale, value + i * head_dim, head_dim);
        }
    }
    size_t to = ((size_t)row * q_heads + h) * splits + split;
#pragma unroll
    for (int32_t j = 0; j < LANE_VALUES; j++)
        if (lane + 32 * j < head_dim) partial[to * head_dim + lane + 32 * j] = r.v[j];
    if (lane == 0) {
        split_max[to] = r.sum > 0 ? r.greatest : 0;
        split_sum[to] = r.sum;
    }
}
