/* quant.cu: see quant.cuh. */
#include "backend/cuda/quant.cuh"

#include "model/tensor.h"

enum { GROUP = 32, WARP_ROWS = 4 };

struct scale {
    float d, m;
};

static __device__ scale scale_of(const void *scales, int32_t type, size_t group) {
    if (type != DTYPE_Q4_1) return {__half2float(((const __half *)scales)[group]), 0};
    __half2 both = reinterpret_cast<const __half2 *>(scales)[group];
    return {__low2float(both), __high2float(both)};
}

static __device__ float4 scaled(scale s, int32_t a, int32_t b, int32_t c, int32_t d) {
    return make_float4(s.d * (float)a + s.m, s.d * (float)b + s.m, s.d * (float)c + s.m,
                       s.d * (float)d + s.m);
}

/* The low or the high halves of four bytes; Q4_0's codes are 8 above their value. */
static __device__ float4 nibbles(scale s, unsigned four, int32_t type, int32_t high) {
    int32_t minus = type == DTYPE_Q4_0 ? 8 : 0;
    four >>= 4 * high;
    return scaled(s, (int32_t)(four & 15) - minus, (int32_t)(four >> 8 & 15) - minus,
                  (int32_t)(four >> 16 & 15) - minus, (int32_t)(four >> 24 & 15) - minus);
}
static __device__ float4 bytes(scale s, char4 four) {
    return scaled(s, four.x, four.y, four.z, four.w);
}

/* The value of a code, whose exponent and mantissa are those of a float 2^120 times smaller: also
 * where the exponent is 0. NaN has no such float. */
static __device__ float fp8(unsigned code) {
    float small = __uint_as_float((code & 0x80) << 24 | (code & 0x7f) << 20);
    return (code & 0x7f) == 0x7f ? __uint_as_float(0x7fc00000) : small * 0x1p120f;
}
static __device__ float4 four_fp8(float d, unsigned four) {
    return make_float4(d * fp8(four), d * fp8(four >> 8), d * fp8(four >> 16), d * fp8(four >> 24));
}

/* Values c .. c + 3 of a row; c % 4 == 0. */
static __device__ float4 four_of(const void *codes, const void *scales, int32_t type, size_t row,
                                 int32_t c, int32_t cols) {
    if (type == QUANT_FP8)
        return four_fp8(((const float *)scales)[row],
                        *reinterpret_cast<const unsigned *>((const char *)codes + row * cols + c));
    scale s = scale_of(scales, type, row * (cols / GROUP) + c / GROUP);
    if (type == DTYPE_Q8_0)
        return bytes(s, *reinterpret_cast<const char4 *>((const char *)codes + row * cols + c));
    size_t at = row * (cols / 2) + c / GROUP * (GROUP / 2) + c % (GROUP / 2);
    return nibbles(s, *reinterpret_cast<const unsigned *>((const char *)codes + at), type,
                   c % GROUP / (GROUP / 2));
}

static __device__ float dot(float4 a, float4 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
static __device__ float warp_sum(float v) {
    for (int32_t offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(~0u, v, offset);
    return v;
}

/* A lane has four neighbours of each 128 values. */
KERNEL gemv_quant(float *y, const void *codes, const void *scales, const float *x, int32_t n,
                  int32_t rows, int32_t cols, int32_t type) {
    int32_t first = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x) / 32 * WARP_ROWS;
    int32_t lane = (int32_t)threadIdx.x % 32;
    if (first >= rows) return; /* the whole warp */
    float sum[WARP_ROWS][QUANT_ROWS] = {};
    for (int32_t c = lane * 4; c < cols; c += 128) {
        float4 w[WARP_ROWS];
#pragma unroll
        for (int32_t i = 0; i < WARP_ROWS; i++)
            if (first + i < rows)
                w[i] = four_of(codes, scales, type, (size_t)first + i, c, cols);
            else
                w[i] = make_float4(0, 0, 0, 0);
#pragma unroll
        for (int32_t t = 0; t < QUANT_ROWS; t++) {
            if (t >= n) break;
            float4 of_x = *reinterpret_cast<const float4 *>(x + (size_t)t * cols + c);
#pragma unroll
            for (int32_t i = 0; i < WARP_ROWS; i++) sum[i][t] += dot(w[i], of_x);
        }
    }
#pragma unroll
    for (int32_t t = 0; t < QUANT_ROWS; t++) {
        if (t >= n) break;
#pragma unroll
        for (int32_t i = 0; i < WARP_ROWS; i++) {
            float total = warp_sum(sum[i][t]);
            if (lane == 0 && first + i < rows) y[(size_t)t * rows + first + i] = total;
        }
    }
}

static __device__ unsigned two(float low, float high) {
    return (unsigned)__bfloat16_as_ushort(__float2bfloat16(low)) |
           (unsigned)__bfloat16_as_ushort(__float2bfloat16(high)) << 16;
}

KERNEL widen_tile(bf16 *out, const void *codes, const void *scales, int32_t first, int32_t rows,
                  int32_t cols, int32_t type) {
    int64_t i = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i >= (int64_t)rows * cols) return;
    float4 v = four_of(codes, scales, type, (size_t)(first + i / cols), (int32_t)(i % cols), cols);
    *reinterpret_cast<uint2 *>(out + i) = make_uint2(two(v.x, v.y), two(v.z, v.w));
}

KERNEL embedding_quant(float *out, const void *codes, const void *scales, const int32_t *id,
                       int32_t tokens, int32_t cols, int32_t type) {
    int64_t i = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i >= (int64_t)tokens * cols) return;
    *reinterpret_cast<float4 *>(out + i) =
        four_of(codes, scales, type, (size_t)id[i / cols], (int32_t)(i % cols), cols);
}
