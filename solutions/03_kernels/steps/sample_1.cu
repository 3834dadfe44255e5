/* sample_1.cu: a draw from the top k and the top p, version 1 of 2.
 *
 * A limit is found without sorting: bit by bit the greatest key that enough tokens reach, one pass
 * over the row for each of 32 bits. A block a row, blocks of 256 threads.
 *
 * Moves: 4 bytes a logit and pass.
 * Does: 4 operations a logit, and an exponential in most passes.
 * Counter: about 67 passes over the row.
 * Compile: nvcc -std=c++17 -arch=sm_80 -Icommon -cubin solutions/03_kernels/steps/sample_1.cu
 */
#include "backend/kernels.h"

enum { THREADS = 256, WARPS = THREADS / 32 };

typedef unsigned long long count; /* of tokens, or of mass */

/* A row, and the conversion of a logit to a mass: 2^40 exp((logit - greatest) / temperature), a
 * whole number, so that a sum doesn't depend on its order. */
struct row {
    const float *logits;
    int32_t vocab;
    float greatest, inverse;
};

static __device__ count mass_of(const row &r, float logit) {
    return (count)(expf((logit - r.greatest) * r.inverse) * 1099511627776.0f);
}

/* Floats in the order of unsigned numbers, and back. + 0 makes -0 the same as 0. */
static __device__ unsigned key_of(float logit) {
    unsigned bits = __float_as_uint(logit + 0.0f);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
static __device__ float logit_of(unsigned key) {
    return __uint_as_float(key & 0x80000000u ? key & 0x7fffffffu : ~key);
}

static __device__ float greatest_of(const float *logits, int32_t vocab) {
    __shared__ float of_warp[WARPS];
    float v = -INFINITY;
    for (int32_t i = (int32_t)threadIdx.x; i < vocab; i += THREADS) v = fmaxf(v, logits[i]);
    for (int32_t offset = 16; offset > 0; offset /= 2)
        v = fmaxf(v, __shfl_xor_sync(~0u, v, offset));
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    for (int32_t w = 0; w < WARPS; w++) v = fmaxf(v, of_warp[w]);
    return v;
}

/* Which tokens are kept: those with a greater key, and the first `ties` of those with this one. */
struct limit {
    unsigned key;
    count ties;
};

static __device__ count block_sum(count v) {
    __shared__ count sum;
    __syncthreads(); /* the previous sum was read */
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    for (int32_t offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(~0u, v, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(&sum, v);
    __syncthreads();
    return sum;
}

/* The greatest key such that the tokens at or above it reach `want`, counted one each or by mass;
 * *above is the count or mass of the tokens above it. One bit of the key a pass over the row. */
template <bool BY_MASS> static __device__ unsigned find(const row &r, count want, count *above) {
    unsigned key = 0;
    *above = 0;
    for (unsigned bit = 0x80000000u; bit > 0; bit /= 2) {
        count reached = 0;
        for (int32_t i = (int32_t)threadIdx.x; i < r.vocab; i += THREADS) {
            float logit = r.logits[i];
            if (key_of(logit) >= (key | bit)) reached += BY_MASS ? mass_of(r, logit) : 1;
        }
        reached = block_sum(reached);
        if (reached >= want)
            key |= bit;
        else
            *above = reached;
    }
    return key;
}

/* The row in one stretch a warp: the mass above the limit, and the tokens at it. */
struct stretches {
    count mass[WARPS], ties[WARPS];
};

static __device__ int32_t stretch_length(int32_t vocab) {
    return (vocab + 32 * WARPS - 1) / (32 * WARPS) * 32;
}

static __device__ void measure(const row &r, unsigned key, stretches *s) {
    int32_t warp = (int32_t)threadIdx.x / 32, length = stretch_length(r.vocab);
    count mass = 0, ties = 0;
    __syncthreads(); /* the previous contents were read */
    for (int32_t i = warp * length + (int32_t)threadIdx.x % 32;
         i < min((warp + 1) * length, r.vocab); i += 32) {
        float logit = r.logits[i];
        unsigned k = key_of(logit);
        if (k > key) mass += mass_of(r, logit);
        if (k == key) ties++;
    }
    for (int32_t offset = 16; offset > 0; offset /= 2) {
        mass += __shfl_xor_sync(~0u, mass, offset);
        ties += __shfl_xor_sync(~0u, ties, offset);
    }
    if (threadIdx.x % 32 == 0) {
        s->mass[warp] = mass;
        s->ties[warp] = ties;
    }
    __syncthreads();
}

/* Mass of the kept tokens of the first n stretches. */
static __device__ count kept_mass(const row &r, const stretches *s, limit l, int32_t n) {
    count mass = 0, ties = 0;
    for (int32_t w = 0; w < n; w++) {
        mass += s->mass[w];
        ties += s->ties[w];
    }
    return mass + (l.key ? (ties < l.ties ? ties : l.ties) * mass_of(r, logit_of(l.key)) : 0);
}

/* One warp looks for the token at which the running mass exceeds `target`. `ties`: how many tokens
 * at the limit come before `first`. */
static __device__ void draw(const row &r, limit l, count target, count ties, int32_t first,
                            int32_t *out) {
    int32_t lane = (int32_t)threadIdx.x % 32;
    unsigned lower = (1u << lane) - 1;
    for (;; first += 32) {
        unsigned key = first + lane < r.vocab ? key_of(r.logits[first + lane]) : 0;
        unsigned at_limit = __ballot_sync(~0u, key == l.key && key > 0);
        bool kept = key > l.key || (key == l.key && ties + __popc(at_limit & lower) < l.ties);
        count through = kept && key > 0 ? mass_of(r, logit_of(key)) : 0;
        for (int32_t offset = 1; offset < 32; offset *= 2) {
            count other = __shfl_up_sync(~0u, through, offset);
            if (lane >= offset) through += other;
        }
        unsigned beyond = __ballot_sync(~0u, through > target);
        if (beyond) {
            if (lane == __ffs((int)beyond) - 1) *out = first + lane;
            return;
        }
        target -= __shfl_sync(~0u, through, 31);
        ties += __popc(at_limit);
    }
}

/* Narrows *l to the tokens that top_p keeps of those in it, whose mass is `total`. */
static __device__ void keep_top_p(const row &r, float top_p, count total, limit *l) {
    count above, want = (count)ceil((double)top_p * (double)total);
    if (want < 1) want = 1;
    l->key = find<true>(r, want, &above);
    count each = mass_of(r, logit_of(l->key));
    l->ties = (want - above + each - 1) / each;
}

KERNEL sample(int32_t *out, const float *logits, const float *uniform, int32_t rows, int32_t vocab,
              int32_t top_k, float temperature, float top_p) {
    __shared__ stretches s;
    const float *own = logits + (size_t)blockIdx.x * vocab;
    row r = {own, vocab, greatest_of(own, vocab), 1 / temperature};
    limit l = {0, 0}; /* no key is below 1: all tokens are kept */
    if (top_k > 0 && top_k < vocab) {
        count above;
        l.key = find<false>(r, (count)top_k, &above);
        l.ties = (count)top_k - above;
    }
    measure(r, l.key, &s);
    if (top_p < 1) {
        keep_top_p(r, top_p, kept_mass(r, &s, l, WARPS), &l);
        measure(r, l.key, &s);
    }
    count total = kept_mass(r, &s, l, WARPS), ties = 0;
    count target = (count)((double)uniform[blockIdx.x] * (double)total);
    int32_t warp = 0;
    while (warp < WARPS - 1 && kept_mass(r, &s, l, warp + 1) <= target) ties += s.ties[warp++];
    if ((int32_t)threadIdx.x / 32 == warp)
        draw(r, l, target - kept_mass(r, &s, l, warp), ties, warp * stretch_length(vocab),
             out + blockIdx.x);
}
