/* make_policy.c: see make_policy.h. */
#include "lab02/make_policy.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t between(struct rng *r, int64_t lo, int64_t hi) {
    return lo + (int64_t)rng_below(r, (uint64_t)(hi - lo + 1));
}

static int32_t between32(struct rng *r, int32_t lo, int32_t hi) {
    return (int32_t)between(r, lo, hi);
}

static int32_t blocks_of(const struct play_request *r) {
    return policy_blocks_for(r->prompt_tokens + r->max_output_tokens);
}

static int32_t largest(const struct play *p) {
    int32_t most = 1;
    for (size_t i = 0; i < p->n; i++)
        if (blocks_of(&p->request[i]) > most) most = blocks_of(&p->request[i]);
    return most;
}

/* n requests with gaps of up to gap_ms; one in three arrives together with the one before. */
static void requests(struct rng *r, struct play *p, size_t n, int32_t prompt, int32_t output,
                     int64_t gap_ms) {
    int64_t t = 0;
    p->n = n;
    for (size_t i = 0; i < n; i++) {
        struct play_request *c = &p->request[i];
        if (i > 0 && rng_below(r, 3) > 0) t += between(r, 0, gap_ms * NS_PER_MS);
        *c = (struct play_request){t, between32(r, 1, prompt), between32(r, 1, output), 0};
        c->max_output_tokens = c->output_tokens * between32(r, 1, 4);
    }
}

static const size_t sizes[] = {1, 2, 2, 3, 4, 6, 9, 14, 20, 30, 45, 60};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static void make_roomy(struct rng *r, int k, struct play *p) {
    static const int32_t budgets[] = {512, 64, 7, 2048, 1, 128};
    static const int32_t positions[] = {16, 1, 3, 64, 2, 8};
    requests(r, p, sizes[k % N_SIZES], k % 3 == 2 ? 40 : 300, 16, 60);
    p->token_budget = budgets[k % 6];
    p->max_running = positions[(k + k / 6) % 6];
    if (p->token_budget < 8 && p->n > 9) p->n = 9; /* a small budget needs many plans */
    p->kv_blocks = 6000;
}

static void make_tight(struct rng *r, int k, struct play *p) {
    bool long_answers =
        k % 3 == 2; /* as long as max_output_tokens: a policy that expects less fails */
    requests(r, p, sizes[k % N_SIZES] + 1, 120, long_answers ? 240 : 48, 30);
    if (k % 3 == 1)
        for (size_t i = 0; i < p->n; i++) p->request[i].arrival_ns = 0;
    if (k % 4 == 3) /* prompts that fill whole blocks: the first token needs a new block */
        for (size_t i = 0; i < p->n; i++)
            p->request[i].prompt_tokens = KV_BLOCK_TOKENS * between32(r, 1, 6);
    if (long_answers)
        for (size_t i = 0; i < p->n; i++)
            p->request[i].max_output_tokens = p->request[i].output_tokens;
    p->token_budget = k % 2 ? 512 : k % 4 ? between32(r, 4, 12) : 48; /* a prompt in many pieces */
    p->max_running = k % 5 == 4 ? 4 : 64;
    p->kv_blocks = largest(p) + between32(r, 0, 3) * (k % 2 ? 1 : 4);
    if (long_answers) p->kv_blocks += between32(r, 0, 2 * largest(p));
}

/* A stream of short requests that never ends, and a long one among them. Even k: the long one needs
 * almost the whole cache, in which the short ones fit beside each other for ever. Odd k: positions
 * are scarce. */
static void make_crowd(struct rng *r, int k, struct play *p) {
    int64_t t = 0;
    size_t at = (size_t)between(r, 2, 6);
    p->n = 110;
    for (size_t i = 0; i < p->n; i++) {
        int32_t out = between32(r, 8, 16);
        p->request[i] = (struct play_request){t, between32(r, 20, 60), out, out + 4};
        t += between(r, 4, 12) * NS_PER_MS;
    }
    p->request[at].prompt_tokens = between32(r, 500, 800);
    p->token_budget = 512;
    p->max_running = k % 2 ? 8 : 64;
    p->kv_blocks = k % 2 ? 4000 : blocks_of(&p->request[at]) + between32(r, 0, 2);
}

/* Poisson arrivals; chat with answers of very different lengths, or documents. At the lower two
 * loads groups are overloaded and continuous batching is not; at the higher two, four times as
 * high, every policy is overloaded. */
static void make_load(struct rng *r, int k, struct play *p, bool light) {
    static const double loads[] = {8.8, 3.8, 48, 16}, light_loads[] = {2.3, 2.0, 2.3, 2.0};
    bool documents = k % 2 == 1;
    double rate = light ? light_loads[k % 4] : loads[k % 4];
    int64_t t = 0;
    p->n = light ? 120 : 240;
    for (size_t i = 0; i < p->n; i++) {
        struct play_request *c = &p->request[i];
        t += rng_exponential_ns(r, (int64_t)(1e9 / rate));
        *c = (struct play_request){t, 0, 0, 0};
        c->prompt_tokens = documents ? between32(r, 400, 1600) : between32(r, 30, 500);
        c->output_tokens = documents ? between32(r, 5, 60) : between32(r, 5, 150);
        c->max_output_tokens = c->output_tokens + between32(r, 0, c->output_tokens);
    }
    p->token_budget = 2048;
    p->max_running = 64;
    p->kv_blocks = 1500;
}

/* n requests with Poisson arrivals. */
static void poisson(struct rng *r, struct play *p, size_t n, double rate_rps, int32_t prompt_lo,
                    int32_t prompt_hi, int32_t output_lo, int32_t output_hi) {
    int64_t t = 0;
    p->n = n;
    for (size_t i = 0; i < n; i++) {
        struct play_request *c = &p->request[i];
        t += rng_exponential_ns(r, (int64_t)(1e9 / rate_rps));
        *c = (struct play_request){t, between32(r, prompt_lo, prompt_hi),
                                   between32(r, output_lo, output_hi), 0};
        c->max_output_tokens = c->output_tokens + between32(r, 0, c->output_tokens / 3);
    }
    p->max_running = 64;
}

/* The cache is scarce, and how many requests fit depends on their lengths: about eight long ones,
 * or 22 short ones, or a mixture. So the blocks decide, and no fixed number of requests is right.
 * The budget cuts prompts into pieces, so that only admission decides: who admits into blocks that
 * running requests are going to need computes prompts again and again. In the last mix answers are
 * long, so that pieces of any size meet a full cache, and requests outgrow their prompts' blocks.
 * Its preemptions are few, so it is played more than once. */
static void make_scarce(struct rng *r, int k, struct play *p) {
    static const struct {
        int32_t lo, hi, other_lo, other_hi; /* half of the prompts each */
        int64_t gap_ms;
        int32_t output_lo, output_hi;
    } mixes[] = {{1500, 3000, 1500, 3000, 235, 60, 140},
                 {500, 1000, 500, 1000, 120, 60, 140},
                 {200, 600, 3000, 5000, 235, 60, 140},
                 {1500, 3000, 1500, 3000, 540, 170, 340}};
    enum { N_MIXES = sizeof mixes / sizeof *mixes };
    _Static_assert((int)N_MIXES == PLAY_SCARCE_MIXES, "make_policy.h says how many");
    int64_t t = 0;
    if (k >= N_MIXES) k = N_MIXES - 1;
    p->n = k == N_MIXES - 1 ? 250 : 150;
    for (size_t i = 0; i < p->n; i++) {
        bool other = rng_below(r, 2);
        int32_t lo = other ? mixes[k].other_lo : mixes[k].lo;
        int32_t hi = other ? mixes[k].other_hi : mixes[k].hi;
        t += between(r, NS_PER_MS, 2 * mixes[k].gap_ms * NS_PER_MS);
        p->request[i] = (struct play_request){
            t, between32(r, lo, hi), between32(r, mixes[k].output_lo, mixes[k].output_hi), 0};
        p->request[i].max_output_tokens =
            p->request[i].output_tokens + between32(r, 0, p->request[i].output_tokens / 3);
    }
    p->max_running = 64;
    p->token_budget = 512;
    p->kv_blocks = 1200;
}

/* A prompt takes up to half a second, at once or in pieces, and prefill keeps the machine busy for
 * most of the time. Answers are short, so that few gaps decide their TPOT. */
static void make_long(struct rng *r, struct play *p) {
    poisson(r, p, 100, 4.0, 2000, 6000, 10, 60);
    p->token_budget = 8192;
    p->kv_blocks = 4000;
}

/* Bursts and lone requests look alike until the others come: the same prompts, the same answers, no
 * common multiple in their times. So no policy can tell them apart, and its rule has to do for
 * both.
 */
static struct play_request grouped(struct rng *r, int64_t arrival_ns) {
    int32_t out = between32(r, 60, 110);
    return (struct play_request){arrival_ns, between32(r, 20, 150), out, out};
}

/* The next one comes when a group has ended, with time to spare. */
static int64_t pause(struct rng *r) {
    return between(r, 1200 * NS_PER_MS, 1600 * NS_PER_MS);
}

/* One group serves a burst before the next one comes. The first request alone, and then the others,
 * take too long. */
static void make_bursts(struct rng *r, struct play *p) {
    enum { BURSTS = 25, WIDTH_MS = 8 };
    int64_t begin = 0;
    for (int b = 0; b < BURSTS; b++) {
        int32_t n = between32(r, 5, 7);
        int64_t t = begin += pause(r);
        for (int32_t i = 0; i < n; i++) {
            p->request[p->n++] = grouped(r, t);
            t += between(r, 0, WIDTH_MS * NS_PER_MS / n);
        }
    }
    p->token_budget = 2048;
    p->max_running = 64;
    p->kv_blocks = 1500;
}

static void make_lone(struct rng *r, struct play *p) {
    int64_t t = 0;
    p->n = 80;
    for (size_t i = 0; i < p->n; i++) p->request[i] = grouped(r, t += pause(r));
    p->token_budget = 2048;
    p->max_running = 64;
    p->kv_blocks = 1500;
}

void lab02_make_play(struct rng *rng, enum play_kind which, int k, struct play *out,
                     char kind[CASE_KIND_BYTES]) {
    static const char *const words[] = {"a cache with room for all",
                                        "a cache little larger than the largest request",
                                        "one long request among many short ones",
                                        "ordinary traffic, a lot of it",
                                        "ordinary traffic, little of it",
                                        "long prompts and a scarce cache",
                                        "very long prompts, short answers",
                                        "bursts of five to seven requests",
                                        "single requests, far apart"};
    memset(out, 0, sizeof *out);
    out->group = 8;
    if (which == PLAY_ROOMY) make_roomy(rng, k, out);
    if (which == PLAY_TIGHT) make_tight(rng, k, out);
    if (which == PLAY_CROWD) make_crowd(rng, k, out);
    if (which == PLAY_LOAD || which == PLAY_LIGHT) make_load(rng, k, out, which == PLAY_LIGHT);
    if (which == PLAY_SCARCE) make_scarce(rng, k, out);
    if (which == PLAY_LONG) make_long(rng, out);
    if (which == PLAY_BURSTS) make_bursts(rng, out);
    if (which == PLAY_LONE) make_lone(rng, out);
    out->batch = which == PLAY_LIGHT || which == PLAY_BURSTS || which == PLAY_LONE;
    snprintf(kind, CASE_KIND_BYTES, "%s; %zu request%s", words[which], out->n,
             out->n == 1 ? "" : "s");
}

/* ---- views ----------------------------------------------------------------------------------- */

static struct policy_request seen(struct rng *r, size_t i, int64_t arrival_ns) {
    return (struct policy_request){.id = lab02_play_id(i, 0),
                                   .arrival_ns = arrival_ns,
                                   .prompt_tokens = between32(r, 1, 200),
                                   .max_output_tokens = between32(r, 1, 64)};
}

void lab02_make_view(struct rng *r, int k, size_t impossible, struct policy_view *out) {
    size_t n_waiting = (size_t)between(r, 0, k % 3 == 0 ? 3 : 12) + impossible;
    size_t n_running = (size_t)between(r, 0, k % 4 == 0 ? 0 : 8);
    struct policy_request *waiting = calloc(n_waiting + 1, sizeof *waiting);
    struct policy_request *running = calloc(n_running + 1, sizeof *running);
    int32_t used = 0;
    INVARIANT(waiting && running);
    for (size_t i = 0; i < n_running; i++) {
        running[i] = seen(r, i, (int64_t)i * NS_PER_MS);
        struct policy_request *c = &running[i];
        c->generated_tokens = k % 2 ? between32(r, 0, c->max_output_tokens - 1) : 0;
        c->computed_tokens = c->prompt_tokens + c->generated_tokens - 1;
        if (c->generated_tokens == 0) c->computed_tokens = between32(r, 0, c->prompt_tokens - 1);
        c->kv_blocks = policy_blocks_for(c->computed_tokens);
        used += c->kv_blocks;
    }
    for (size_t i = 0; i < n_waiting; i++) {
        waiting[i] = seen(r, n_running + i, (int64_t)(n_running + i) * NS_PER_MS);
        if (k % 5 == 3 && i == 0) waiting[i].preemptions = 1;
        if (k % 5 == 3 && i == 0) waiting[i].generated_tokens = 1;
    }
    int32_t total = used + 25 + between32(r, 0, k % 2 ? 4 : 90);
    for (size_t i = 0; i < impossible; i++) { /* some for the prompt alone, some for one token */
        struct policy_request *c = &waiting[rng_below(r, n_waiting)];
        c->prompt_tokens = total * KV_BLOCK_TOKENS - c->max_output_tokens + 1;
        if (i % 2) c->prompt_tokens = total * KV_BLOCK_TOKENS + between32(r, 1, 5000);
    }
    *out = (struct policy_view){.now_ns = (int64_t)(n_waiting + n_running) * NS_PER_MS,
                                .waiting = waiting,
                                .n_waiting = n_waiting,
                                .running = running,
                                .n_running = n_running,
                                .free_kv_blocks = total - used,
                                .total_kv_blocks = total,
                                .token_budget = k % 3 ? 512 : 16,
                                .max_running = (int32_t)n_running + between32(r, 0, 6),
                                .arrivals_ended = k % 7 == 0};
    if (out->max_running < 1) out->max_running = 1;
}
