/* test_cuda_choose.c: tokens that the CUDA backend chooses itself are those that sampler_next
 * chooses from its logits; and what it can't decide comes back as logits.
 */
#include "backend/cuda/tests/machine.h"

#include "base/home.h"
#include "base/rng.h"
#include "model/token_scores.h"
#include "sched/policy.h"
#include "testing/check_main.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { SEQS = 6, TOKENS = 12, DRAFTS = 2, MOST_ROWS = SEQS * (1 + DRAFTS), WEIGHT_BYTES = 4166144 };

static struct model *model;

static struct backend *open_backend(const struct model *m, int exact) {
    struct backend_config c = {.model = m,
                               .max_seq_tokens = 64,
                               .max_step_tokens = SEQS * TOKENS,
                               .max_seqs = SEQS,
                               .draft_tokens = DRAFTS};
    enum cuda_precision precision = exact ? CUDA_EXACT : CUDA_BF16;
    return machine_open_with(&c, (struct backend_cuda_options){.precision = precision});
}

static void set_up(void) {
    model = machine_model();
}

static void tear_down(void) {
    model_free(model);
}

/* The embedded model with all its weights set to one value. */
static struct model *constant_model(float value) {
    char home[4096], path[] = "/tmp/servelab-choose-XXXXXX";
    static uint8_t bytes[WEIGHT_BYTES + (1 << 20)];
    struct err e;
    FILE *f = fopen(home_path(HOME_DEFAULT_MODEL, home, sizeof home), "rb");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    ck_assert(n > WEIGHT_BYTES && n < sizeof bytes);
    for (size_t at = n - WEIGHT_BYTES; at < n; at += sizeof value)
        memcpy(bytes + at, &value, sizeof value);
    int fd = mkstemp(path);
    ck_assert(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    close(fd);
    struct model *m = model_open(path, &e);
    ck_assert_msg(m != NULL, "%s", e.text);
    unlink(path);
    return m;
}

/* ---- a step ---------------------------------------------------------------------------------- */

struct batch {
    int32_t tokens[SEQS][TOKENS], table[SEQS][1], rows;
    struct backend_seq seq[SEQS];
};

static void random_batch(struct batch *b, struct rng *r, int32_t vocab) {
    b->rows = 0;
    for (int32_t i = 0; i < SEQS; i++) {
        int32_t n = 1 + (int32_t)rng_below(r, TOKENS);
        int32_t want = n < 1 + DRAFTS ? n : (int32_t)rng_below(r, 2 + DRAFTS);
        for (int32_t k = 0; k < n; k++) b->tokens[i][k] = (int32_t)rng_below(r, (uint64_t)vocab);
        b->table[i][0] = SEQS - 1 - i;
        b->seq[i] = (struct backend_seq){b->tokens[i], n, 0, b->table[i], 1, want};
        b->rows += want;
    }
}

/* Settings as requests send them, and hard ones: 0: greedy. */
static struct sampler make_sampler(int32_t vocab, struct rng *r, uint64_t seed) {
    static const float temperature[] = {0, 0, 0.05f, 0.7f, 1, 2, 1e-30f},
                       top_p[] = {1, 1, 0.9f, 0.5f, 0.01f, 0.999f};
    static const int32_t top_k[] = {0, 0, 1, 5, 40, 447, 1000};
    struct sampler_config c = {.temperature = temperature[rng_below(r, 7)],
                               .top_p = top_p[rng_below(r, 6)],
                               .top_k = top_k[rng_below(r, 7)],
                               .min_p = rng_below(r, 8) ? 0 : 0.1f,
                               .seed = seed};
    struct sampler s;
    struct err e;
    ck_assert_msg(!sampler_init(&s, vocab, &c, &e), "%s", e.text);
    return s;
}

struct counts {
    int64_t rows, foreseen, decided, scored;
};

/* One batch, first for its logits, then for choices; both must agree with each row's sampler. */
static void compare(struct backend *b, struct rng *r, uint64_t seed, struct counts *n) {
    static struct batch batch;
    struct err e;
    int32_t vocab = b->info.vocab_size;
    size_t row_bytes = (size_t)vocab * sizeof(float);
    float *logits = malloc(MOST_ROWS * row_bytes), *left = malloc(MOST_ROWS * row_bytes);
    struct backend_choice choices[MOST_ROWS];
    struct sampler samplers[MOST_ROWS];
    random_batch(&batch, r, vocab);
    const struct backend_batch step = {batch.seq, SEQS};
    ck_assert_msg(!backend_step(b, &step, logits, &e), "%s", e.text);
    for (int32_t i = 0; i < batch.rows; i++) {
        samplers[i] = make_sampler(vocab, r, seed * MOST_ROWS + (uint64_t)i);
        choices[i].wanted = sampler_foresee(&samplers[i], 0, &choices[i].draw) && rng_below(r, 6);
        choices[i].scored = rng_below(r, 2);
        choices[i].logprob = 7;
        n->foreseen += choices[i].wanted;
    }
    bool asked[MOST_ROWS];
    for (int32_t i = 0; i < batch.rows; i++) asked[i] = choices[i].wanted;
    memset(left, 0xff, MOST_ROWS * row_bytes);
    ck_assert_msg(!backend_step_choosing(b, &step, choices, batch.rows, left, &e), "%s", e.text);
    for (int32_t i = 0; i < batch.rows; i++) {
        const float *row = logits + (size_t)i * (size_t)vocab,
                    *got = left + (size_t)i * (size_t)vocab;
        int32_t want = sampler_next(&samplers[i], row, &e);
        if (choices[i].id >= 0) {
            ck_assert(asked[i]);
            ck_assert_msg(choices[i].id == want,
                          "row %d: %d, host %d; temperature %g, top_p %g, k %d", i, choices[i].id,
                          want, (double)choices[i].draw.temperature, (double)choices[i].draw.top_p,
                          choices[i].draw.top_k);
            struct token_score score;
            token_scores(row, vocab, want, 0, &score);
            ck_assert_msg(!choices[i].scored || fabsf(choices[i].logprob - score.logprob) <=
                                                    1e-6f * (1 + fabsf(score.logprob)),
                          "row %d: log-probability %.9g, host %.9g", i, (double)choices[i].logprob,
                          (double)score.logprob);
            n->scored += choices[i].scored;
            bool untouched = true; /* no logits came back */
            for (int32_t v = 0; v < vocab; v++) untouched &= isnan(got[v]) != 0;
            ck_assert(untouched);
        } else {
            ck_assert_mem_eq(got, row, row_bytes);
        }
        n->rows++;
        n->decided += choices[i].id >= 0;
        sampler_release(&samplers[i]);
    }
    free(logits);
    free(left);
}

START_TEST(choices_are_the_hosts) {
    struct backend *b = open_backend(model, _i);
    struct rng r;
    struct counts n = {0};
    rng_seed(&r, 11 + (uint64_t)_i);
    for (uint64_t seed = 0; seed < 60; seed++) compare(b, &r, seed, &n);
    ck_assert_int_gt(n.rows, 400);
    ck_assert_int_lt(n.foreseen, n.rows);
    ck_assert_int_gt(n.scored, 100);
    /* few are too close, or have a temperature of 1e-30 */
    ck_assert_msg(n.decided * 10 > n.foreseen * 8 && n.decided < n.foreseen, "%lld of %lld of %lld",
                  (long long)n.decided, (long long)n.foreseen, (long long)n.rows);
    backend_free(b);
}
END_TEST

/* All logits are equal: greedy takes id 0, and a draw walks by rising id. */
START_TEST(ties_are_the_hosts) {
    struct model *zero = constant_model(0);
    struct backend *b = open_backend(zero, 0);
    struct rng r;
    struct counts n = {0};
    rng_seed(&r, 3);
    for (uint64_t seed = 0; seed < 20; seed++) compare(b, &r, seed, &n);
    ck_assert_int_gt(n.decided, n.foreseen / 2);
    backend_free(b);
    model_free(zero);
}
END_TEST

/* Broken logits come back, so that the host can name them; and no kernel hangs. */
START_TEST(odd_logits_come_back) {
    struct model *broken = constant_model(_i ? INFINITY : NAN);
    struct backend *b = open_backend(broken, 0);
    int32_t token = 5, table = 0;
    struct err e;
    float *logits = malloc((size_t)b->info.vocab_size * sizeof *logits);
    const struct backend_seq seq = {&token, 1, 0, &table, 1, 1};
    for (int hot = 0; hot < 2; hot++) {
        struct backend_choice c = {
            .wanted = true, .draw = {.temperature = hot ? 0.8f : 0, .top_p = 1, .unit = 0.5}};
        ck_assert(!backend_step_choosing(b, &(struct backend_batch){&seq, 1}, &c, 1, logits, &e));
        ck_assert_int_eq(c.id, -1);
        ck_assert_int_eq(sampler_greedy(logits, b->info.vocab_size, &e), -1);
        ck_assert_ptr_nonnull(strstr(e.text, "the model's computation is broken"));
    }
    free(logits);
    backend_free(b);
    model_free(broken);
}
END_TEST

int main(void) {
    Suite *s = suite_create("cuda choose");
    TCase *t = tcase_create("choose");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, set_up, tear_down);
    suite_add_tcase(s, t);
    tcase_add_loop_test(t, choices_are_the_hosts, 0, 2);
    tcase_add_test(t, ties_are_the_hosts);
    tcase_add_loop_test(t, odd_logits_come_back, 0, 2);
    return check_main(s);
}
