/* choose.cu: the next tokens, chosen on the device, so that ids come back instead of logits.
 *
 * Greedy: lab 03's argmax. Its result is the host's, of equal logits the lowest id. Sampled: lab
 * 03's sample, with the host's random number. The host sums weights in double, the kernel in 2^-40
 * of weights in float, so that a number close to the border between two tokens may fall on either
 * side. Therefore each row is drawn with the number a little lower and a little higher, and where
 * top_p limits the tokens with both of them for a top_p a little lower and higher. The token rises
 * with the number. So where all draws give one token, the host's choice is that token. Otherwise
 * the row's logits are copied, and the host chooses.
 *
 * How much is a little: the mass up to a token has a relative error of at most 2 (2^-22 + 3 2^-24
 * x), where x is the mean of log(greatest weight / weight), which is at most log(vocab) < 13: below
 * 6e-6, and the kernel's whole numbers lose vocab 2^-40. BORDER is more. With top_p a few light
 * tokens may be kept or not: those within TOP_P_BORDER of the limit, at most 4 TOP_P_BORDER of the
 * mass; and one heavier token, which the two values of top_p then keep and drop.
 *
 * With an id its log-probability comes back, if it is wanted: in double, as on the host.
 *
 * A row with a logit that is not finite is copied, too, and the host names it. sample must not see
 * it: it would look for a token for ever.
 */
#include "backend/cuda/start.cuh"

#include <float.h>
#include <string.h>

enum { SCORE_THREADS = 256, WORDS = DRAWS + 2 /* ids, odd, logprob */ };

/* 1 / temperature is finite, and so is its product with a logit's distance. */
static const float LEAST_TEMPERATURE = 1e-3f;
static const double BORDER = 1e-5, TOP_P_BORDER = 1e-5, BORDER_WITH_TOP_P = 1e-4;

/* logprob[row]: of id[row], as token_scores computes it, in double. A block of 256 a row. */
KERNEL score_rows(float *logprob, const float *logits, const int32_t *id, int32_t vocab) {
    __shared__ float greatest[SCORE_THREADS];
    __shared__ double sum[SCORE_THREADS];
    const float *own = logits + (size_t)blockIdx.x * vocab;
    int32_t t = (int32_t)threadIdx.x;
    float most = -FLT_MAX;
    double mine = 0;
    for (int32_t i = t; i < vocab; i += SCORE_THREADS) most = fmaxf(most, own[i]);
    greatest[t] = most;
    for (int32_t half = SCORE_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) greatest[t] = fmaxf(greatest[t], greatest[t + half]);
    }
    __syncthreads();
    most = greatest[0];
    for (int32_t i = t; i < vocab; i += SCORE_THREADS) mine += exp((double)own[i] - (double)most);
    sum[t] = mine;
    for (int32_t half = SCORE_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) sum[t] += sum[t + half];
    }
    if (t == 0)
        logprob[blockIdx.x] = (float)((double)own[id[blockIdx.x]] - ((double)most + log(sum[0])));
}

/* odd[row]: 1 if one of its logits is not finite, otherwise 0. A block a row. */
KERNEL odd_rows(int32_t *odd, const float *logits, int32_t vocab) {
    const float *own = logits + (size_t)blockIdx.x * vocab;
    bool mine = false;
    for (int32_t i = (int32_t)threadIdx.x; i < vocab; i += (int32_t)blockDim.x)
        mine |= (__float_as_uint(own[i]) & 0x7f800000u) == 0x7f800000u;
    int any = __syncthreads_or(mine);
    if (threadIdx.x == 0) odd[blockIdx.x] = any != 0;
}

int choose_take(struct cuda_backend *b, struct err *e) {
    size_t rows = (size_t)backend_max_logits(&b->base.info);
    size_t ids = WORDS * rows * sizeof *b->draws.id;
    size_t numbers = DRAWS * rows * sizeof *b->draws.uniform;
    TRY(memory_take(b, OF_WORKSPACE, (void **)&b->draws.id, (int64_t)ids, e));
    TRY(memory_take(b, OF_WORKSPACE, (void **)&b->draws.uniform, (int64_t)numbers, e));
    if (!b->memory.allocate) return 0;
    CUDA_TRY(cudaMallocHost((void **)&b->host_draws.id, ids));
    CUDA_TRY(cudaMallocHost((void **)&b->host_draws.uniform, numbers));
    CUDA_TRY(cudaMemsetAsync(b->draws.id, 0, ids, b->stream)); /* not all rows are chosen */
    memset(b->host_draws.id, 0, ids);
    memset(b->host_draws.uniform, 0, numbers);
    struct draws *both[] = {&b->draws, &b->host_draws};
    for (int i = 0; i < 2; i++) {
        both[i]->odd = both[i]->id + DRAWS * rows;
        both[i]->logprob = (float *)(both[i]->odd + rows);
    }
    return 0;
}

/* How far the draws lie on either side of the number. */
static double border_of(const struct sampler_draw *d) {
    return d->top_p < 1 ? BORDER_WITH_TOP_P : BORDER;
}

/* Can the kernels choose for this row? A number at the end of [0, 1) has no higher one. */
static bool can_choose(const struct cuda_backend *b, const struct backend_choice *c) {
    if (!c->wanted || b->config.vocab_size % 8) return false;
    return c->draw.temperature == 0 || (c->draw.temperature >= LEAST_TEMPERATURE &&
                                        c->draw.unit + border_of(&c->draw) < 0.999999);
}

static bool alike(const struct backend_choice *a, const struct backend_choice *c) {
    return c->draw.temperature == a->draw.temperature && c->draw.top_k == a->draw.top_k &&
           c->draw.top_p == a->draw.top_p;
}

/* The numbers of all rows, to the device. */
static int send_numbers(struct cuda_backend *b, const struct backend_choice *choices, int32_t n,
                        struct err *e) {
    size_t rows = (size_t)backend_max_logits(&b->base.info);
    for (int32_t i = 0; i < n; i++) {
        const struct sampler_draw *d = &choices[i].draw;
        if (!can_choose(b, &choices[i]) || d->temperature == 0) continue;
        double low = d->unit - border_of(d), high = d->unit + border_of(d);
        for (int k = 0; k < DRAWS; k++)
            b->host_draws.uniform[k * rows + i] = (float)(k % 2 ? high : low < 0 ? 0 : low);
    }
    CUDA_TRY(cudaMemcpyAsync(b->draws.uniform, b->host_draws.uniform,
                             DRAWS * rows * sizeof *b->draws.uniform, cudaMemcpyHostToDevice,
                             b->stream));
    return 0;
}

/* Rows first .. first + n - 1, whose settings are alike. */
static int draw(struct cuda_backend *b, const struct sampler_draw *d, int32_t first, int32_t n,
                struct err *e) {
    size_t rows = (size_t)backend_max_logits(&b->base.info);
    int32_t vocab = b->config.vocab_size;
    for (int k = 0; k < (d->top_p < 1 ? DRAWS : DRAWS / 2); k++) {
        double top_p = (double)d->top_p * (k < 2 ? 1 - TOP_P_BORDER : 1 + TOP_P_BORDER);
        size_t at = k * rows + (size_t)first;
        START(sample, b->draws.id + at, b->logits + (size_t)first * vocab, b->draws.uniform + at, n,
              vocab, d->top_k, d->temperature, d->top_p < 1 && top_p < 1 ? (float)top_p : 1.0f);
    }
    return 0;
}

static int leave_odd_rows(struct cuda_backend *b, struct backend_choice *choices, int32_t n,
                          struct err *e) {
    CUDA_TRY(cudaMemcpyAsync(b->host_draws.odd, b->draws.odd, (size_t)n * sizeof *b->draws.odd,
                             cudaMemcpyDeviceToHost, b->stream));
    CUDA_TRY(cudaStreamSynchronize(b->stream));
    for (int32_t i = 0; i < n; i++) choices[i].wanted &= !b->host_draws.odd[i];
    return 0;
}

/* Starts the choices of all rows, and the copy of what they give. */
static int start_choices(struct cuda_backend *b, struct backend_choice *choices, int32_t n,
                         struct err *e) {
    size_t rows = (size_t)backend_max_logits(&b->base.info);
    int32_t vocab = b->config.vocab_size;
    bool greedy = false, sampled = false, scored = false;
    for (int32_t i = 0; i < n; i++) {
        if (!can_choose(b, &choices[i])) continue;
        *(choices[i].draw.temperature == 0 ? &greedy : &sampled) = true;
        scored |= choices[i].scored;
    }
    if (!greedy && !sampled) return 0;
    START_FLAT(odd_rows, (int64_t)n * 256, b->draws.odd, b->logits, vocab);
    if (greedy) START(argmax, b->draws.id, b->logits, n, vocab);
    if (sampled) TRY(leave_odd_rows(b, choices, n, e));
    if (sampled) TRY(send_numbers(b, choices, n, e));
    for (int32_t first = 0, next; first < n; first = next) {
        const struct backend_choice *c = &choices[first];
        next = first + 1;
        if (!can_choose(b, c) || c->draw.temperature == 0) continue;
        while (next < n && can_choose(b, &choices[next]) && alike(c, &choices[next])) next++;
        TRY(draw(b, &c->draw, first, next - first, e));
    }
    if (scored)
        START_FLAT(score_rows, (int64_t)n * SCORE_THREADS, b->draws.logprob, b->logits, b->draws.id,
                   vocab);
    CUDA_TRY(cudaMemcpyAsync(b->host_draws.id, b->draws.id, WORDS * rows * sizeof *b->draws.id,
                             cudaMemcpyDeviceToHost, b->stream));
    return 0;
}

static int copy_logits(struct cuda_backend *b, int32_t row, float *logits, struct err *e) {
    size_t vocab = (size_t)b->config.vocab_size, at = (size_t)row * vocab;
    CUDA_TRY(cudaMemcpyAsync(logits + at, b->logits + at, vocab * sizeof *logits,
                             cudaMemcpyDeviceToHost, b->stream));
    return 0;
}

/* The row's token, once the draws are here; -1: they differ, or a logit is odd. */
static int32_t decided(const struct cuda_backend *b, const struct backend_choice *c, int32_t row) {
    size_t rows = (size_t)backend_max_logits(&b->base.info);
    const int32_t *id = b->host_draws.id + row;
    if (b->host_draws.odd[row]) return -1;
    if (c->draw.temperature == 0) return id[0];
    for (int k = 1; k < (c->draw.top_p < 1 ? DRAWS : DRAWS / 2); k++)
        if (id[k * rows] != id[0]) return -1;
    return id[0];
}

int choose_tokens(struct cuda_backend *b, int32_t wanted, struct backend_choice *choices,
                  float *logits, struct err *e) {
    if (!choices) {
        size_t bytes = (size_t)wanted * b->config.vocab_size * sizeof *logits;
        CUDA_TRY(cudaMemcpyAsync(logits, b->logits, bytes, cudaMemcpyDeviceToHost, b->stream));
        CUDA_TRY(cudaStreamSynchronize(b->stream));
        return 0;
    }
    bool late = false;
    TRY(start_choices(b, choices, wanted, e));
    for (int32_t i = 0; i < wanted; i++)
        if (!can_choose(b, &choices[i])) TRY(copy_logits(b, i, logits, e));
    CUDA_TRY(cudaStreamSynchronize(b->stream));
    for (int32_t i = 0; i < wanted; i++) {
        if (!can_choose(b, &choices[i])) continue;
        choices[i].id = decided(b, &choices[i], i);
        choices[i].logprob = b->host_draws.logprob[i];
        late |= choices[i].id < 0;
        if (choices[i].id < 0) TRY(copy_logits(b, i, logits, e));
    }
    if (late) CUDA_TRY(cudaStreamSynchronize(b->stream));
    return 0;
}
