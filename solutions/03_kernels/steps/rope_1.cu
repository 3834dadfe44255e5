/* rope_1.cu: rotary positions and the write into the cache, version 1 of 3.
 *
 * A thread a head: first all query heads, then all KV heads. Neighbouring threads are a whole
 * head apart.
 *
 * Moves: about eight times what is needed.
 * Does: 3 operations a value.
 * Counter: 32 sectors a request.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/rope_1.cu
 */
#include "backend/kernels.h"

KERNEL rope(float *q, bf16 *kpool, bf16 *vpool, const float *k, const float *v,
            const float *cosines, const float *sines, const int32_t *position, const int32_t *slot,
            int32_t tokens, int32_t q_heads, int32_t kv_heads, int32_t head_dim) {
    int32_t h = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x), half = head_dim / 2;
    if (h < tokens * q_heads) {
        const float *c = cosines + (size_t)position[h / q_heads] * half;
        const float *s = sines + (size_t)position[h / q_heads] * half;
        float *x = q + (size_t)h * head_dim;
        for (int32_t i = 0; i < half; i++) {
            float a = x[i], b = x[i + half];
            x[i] = a * c[i] - b * s[i];
            x[i + half] = a * s[i] + b * c[i];
        }
        return;
    }
    h -= tokens * q_heads;
    if (h >= tokens * kv_heads) return;
    int32_t t = h / kv_heads, block = slot[t] / KV_BLOCK_TOKENS;
    size_t to =
        (((size_t)block * kv_heads + h % kv_heads) * KV_BLOCK_TOKENS + slot[t] % KV_BLOCK_TOKENS) *
        head_dim;
    const float *c = cosines + (size_t)position[t] * half;
    const float *s = sines + (size_t)position[t] * half;
    const float *x = k + (size_t)h * head_dim;
    for (int32_t i = 0; i < half; i++) {
        float a = x[i], b = x[i + half];
        kpool[to + i] = __float2bfloat16(a * c[i] - b * s[i]);
        kpool[to + i + half] = __float2bfloat16(a * s[i] + b * c[i]);
        vpool[to + i] = __float2bfloat16(v[(size_t)h * head_dim + i]);
        vpool[to + i + half] = __float2bfloat16(v[(size_t)h * head_dim + i + half]);
    }
}
