/* prompt.cu: attention_prompt against the kernels that it stands in for: attention_paged, which is
 * float, and lab 03's attention_prefill. Random queries, caches and tables; TAP.
 *
 *   prompt CASES
 *
 * Tolerance: 1e-2 of the greatest value, as for bf16 (test_cuda.c).
 */
#include "backend/cuda/paged.cuh"
#include "backend/cuda/prompt.cuh"
#include "simt/tests/tap.cuh"

#include <string.h>

enum { BLOCK = 16, CANARY_ROWS = 3 };

static unsigned state = 1;
static int below(int n) {
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 8) % (unsigned)n);
}
static float unit() {
    return (float)(below(1 << 16) - (1 << 15)) / (1 << 15);
}

struct scene {
    int pos0, tokens, q_heads, kv_heads, head_dim, window;
    bool codes;
    float scale;
    std::vector<float> q;
    std::vector<uint8_t> k, v; /* bf16, or codes */
    std::vector<float> kscale, vscale;
    std::vector<int32_t> table, position;
};

static scene draw(int i) {
    static const int dims[] = {16, 48, 64, 80, 128};
    scene s;
    s.head_dim = dims[i % 5];
    s.kv_heads = 1 + below(2);
    s.q_heads = s.kv_heads * (1 + below(3));
    s.tokens = i == 0 ? 2 : 2 + below(150);
    s.pos0 = i % 3 ? below(100) : 0;
    s.window = i % 2 ? 1 + below(i % 4 == 1 ? 20 : 120) : 0;
    s.codes = i % 7 >= 4;
    s.scale = 1 / sqrtf((float)s.head_dim);
    int blocks = (s.pos0 + s.tokens + BLOCK - 1) / BLOCK, pool = blocks + 2;
    size_t rows = (size_t)pool * s.kv_heads * BLOCK, n = rows * s.head_dim;
    for (int b = 0; b < blocks; b++) s.table.push_back((b * 5 + 3) % pool);
    for (int b = 0; b < blocks; b++) /* a step of 5 may come back to a block */
        for (int c = 0; c < b; c++)
            if (s.table[c] == s.table[b]) s.table[b] = (s.table[b] + 1) % pool, c = -1;
    for (int t = 0; t < s.tokens; t++) s.position.push_back(s.pos0 + t);
    for (size_t k = 0; k < (size_t)s.tokens * s.q_heads * s.head_dim; k++)
        s.q.push_back(3 * unit());
    for (int values = 0; values < 2; values++)
        for (size_t k = 0; k < n; k++) {
            std::vector<uint8_t> &to = values ? s.v : s.k;
            bf16 h = __float2bfloat16(2 * unit());
            if (s.codes) {
                to.push_back((uint8_t)(below(255) - 127));
            } else {
                to.insert(to.end(), (uint8_t *)&h, (uint8_t *)&h + sizeof h);
            }
        }
    for (size_t r = 0; s.codes && r < rows; r++) {
        s.kscale.push_back((1 + unit() / 2) / 64);
        s.vscale.push_back((1 + unit() / 2) / 64);
    }
    return s;
}

/* The worst difference, of the greatest value; 9 where one is not finite. */
static double worst(const std::vector<float> &got, const std::vector<float> &want) {
    double most = 0, far = 0;
    for (size_t i = 0; i < want.size(); i++) {
        if (!std::isfinite(got[i])) return 9;
        most = fmax(most, fabs(want[i]));
        far = fmax(far, fabs((double)got[i] - want[i]));
    }
    return most > 0 ? far / most : 9;
}

static void compare(int i) {
    scene s = draw(i);
    size_t rows = (size_t)s.tokens * s.q_heads, n = rows * s.head_dim;
    size_t more = (size_t)CANARY_ROWS * s.q_heads * s.head_dim;
    float *q = device_copy(s.q), *ks = s.codes ? device_copy(s.kscale) : NULL,
          *vs = s.codes ? device_copy(s.vscale) : NULL;
    uint8_t *k = device_copy(s.k), *v = device_copy(s.v);
    int32_t *table = device_copy(s.table), *position = device_copy(s.position);
    float *out = device_filled<float>(n + more, 0x11), *lab = device_filled<float>(n, 0);
    float *partial = device_filled<float>(n, 0), *max = device_filled<float>(rows, 0),
          *sum = device_filled<float>(rows, 0);

    dim3 grid((unsigned)s.q_heads, (unsigned)(s.tokens + PROMPT_QUERIES - 1) / PROMPT_QUERIES);
    attention_prompt<<<grid, PROMPT_THREADS>>>(out, q, k, v, ks, vs, table, s.pos0, s.tokens,
                                               s.q_heads, s.kv_heads, s.head_dim, s.window,
                                               s.scale);
    dim3 each(1, (unsigned)s.kv_heads, (unsigned)s.tokens);
    attention_paged<<<each, (unsigned)(s.q_heads / s.kv_heads) * 32,
                      2 * BLOCK *(unsigned)s.head_dim * sizeof(float)>>>(
        partial, max, sum, q, k, v, ks, vs, table, 0, position, s.q_heads, s.kv_heads, s.head_dim,
        s.window, s.scale);
    std::vector<float> got = host_copy(out, n + more), want = host_copy(partial, n),
                       sums = host_copy(sum, rows);
    for (size_t e = 0; e < n; e++) want[e] /= sums[e / s.head_dim];

    bool whole = true; /* nothing is written behind the rows */
    uint32_t canary;
    for (size_t e = n; e < n + more; e++) {
        memcpy(&canary, &got[e], 4);
        whole &= canary == 0x11111111;
    }
    got.resize(n);
    double far = worst(got, want), lab_far = 0;
    if (!s.codes && !s.window) {
        dim3 tiles((unsigned)s.q_heads, (unsigned)(s.tokens + 15) / 16);
        attention_prefill<<<tiles, 128>>>(lab, q, (bf16 *)k, (bf16 *)v, table, s.pos0, s.tokens,
                                          s.q_heads, s.kv_heads, s.head_dim, s.scale);
        lab_far = worst(got, host_copy(lab, n));
    }
    TAP(whole && far <= 1e-2 && lab_far <= 1e-2,
        "%d tokens behind %d, %d of %d heads of %d, window %d, %s: %.1e from float%s", s.tokens,
        s.pos0, s.q_heads, s.kv_heads, s.head_dim, s.window, s.codes ? "int8" : "bf16", far,
        !s.codes && !s.window ? ", and from attention_prefill" : "");
    void *all[] = {q, ks, vs, k, v, table, position, out, lab, partial, max, sum};
    for (void *p : all) cudaFree(p);
}

int main(int argc, char **argv) {
    int cases = argc > 1 ? atoi(argv[1]) : 35;
    for (int i = 0; i < cases; i++) compare(i);
    printf("1..%d\n", tap_count);
    return tap_failed > 0;
}
