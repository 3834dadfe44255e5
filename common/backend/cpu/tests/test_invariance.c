/* test_invariance.c: a token's logits have the same bits for other sequences in the batch, another
 * division of the prompt into steps, other blocks and other numbers of threads.
 *
 * Compared with compare_bits, without a tolerance, because cpu.h guarantees equal bits.
 */
#include "backend/cpu/tests/feeding.h"
#include "backend/cpu/tests/reference.h"
#include "testing/check_main.h"

enum { VOCAB = 96, N = 300, BLOCKS = (N + 15) / 16 };

static const struct model_config base_config = {.name = "random",
                                                .vocab_size = VOCAB,
                                                .d_model = 96,
                                                .n_layers = 2,
                                                .n_heads = 8,
                                                .n_kv_heads = 2,
                                                .head_dim = 24,
                                                .d_ffn = 1568, /* two pieces of K_CHUNK columns */
                                                .context_length = 512,
                                                .rope_theta = 10000,
                                                .rope_scale = 1,
                                                .rms_eps = 1e-5f,
                                                .tied = false};
static const struct kind {
    enum dtype type;
    struct backend_cpu_options options;
    int32_t window; /* of the first layer */
} kinds[] = {{DTYPE_F32, {0}, 0},
             {DTYPE_F16, {0}, 0},
             {DTYPE_BF16, {0}, 0},
             {DTYPE_Q8_0, {0}, 0},
             {DTYPE_Q4_0, {0}, 0},
             {DTYPE_Q4_1, {0}, 0},
             {DTYPE_F32, {.kv = KV_F16}, 0},
             {DTYPE_F32, {0}, 150},
             {DTYPE_Q8_0, {.precision = PRECISION_FAST, .kv = KV_F16}, 0},
             {DTYPE_Q8_0, {.precision = PRECISION_FAST}, 0},
             {DTYPE_Q4_0, {.precision = PRECISION_FAST}, 0},
             {DTYPE_Q4_1, {.precision = PRECISION_FAST}, 0},
             {DTYPE_BF16, {.precision = PRECISION_FAST}, 0}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static struct model *model;
static int32_t tokens[N];
static float want[VOCAB];

/* The simplest case: one thread, one sequence, one token a step, blocks in order. */
static void setup(struct kind k) {
    model = ref_model(base_config, ROPE_NEIGHBOURS, true, k.type, 21);
    model->config.window = k.window;
    model->layers[0].windowed = k.window > 0;
    ref_tokens(model, 4, tokens, N);
    struct backend *b = feed_backend(model, 1, 1, 0, &k.options);
    int32_t *table = feed_table(0, BLOCKS, 0);
    feed_from(b, tokens, 0, N, 1, table, want);
    free(table);
    backend_free(b);
}

static void same(const float *got, const char *what, int detail) {
    struct comparison c = compare_bits(got, want, VOCAB);
    char text[200];
    ck_assert_msg(c.ok, "%s %d: %s", what, detail, comparison_text(&c, text, sizeof text));
}

START_TEST(cut_of_the_prompt) {
    setup(kinds[_i]);
    static const int32_t cuts[] = {N, 2, 3, 5, 16, 17, 127, 128, 129, 299};
    struct backend *b = feed_backend(model, 1, 1, 0, &kinds[_i].options);
    int32_t *table = feed_table(0, BLOCKS, 0);
    float got[VOCAB];
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        feed_from(b, tokens, 0, N, cuts[i], table, got);
        same(got, "steps of", cuts[i]);
    }
    free(table);
    backend_free(b);
    ref_model_free(model);
}
END_TEST

START_TEST(threads) {
    setup(kinds[_i]);
    for (int32_t n = 1; n <= 4; n++) {
        struct backend *b = feed_backend(model, n, 1, 0, &kinds[_i].options);
        int32_t *table = feed_table(0, BLOCKS, 0);
        float got[VOCAB];
        feed_from(b, tokens, 0, N, N, table, got);
        same(got, "prefill, threads:", n);
        feed_from(b, tokens, 0, N, 1, table, got);
        same(got, "decode, threads:", n);
        free(table);
        backend_free(b);
    }
    ref_model_free(model);
}
END_TEST

START_TEST(blocks_in_any_order) {
    setup(kinds[0]);
    struct err e;
    struct backend_config c = {.model = model, .threads = 2, .kv_blocks = 500};
    struct backend *b = backend_cpu_create(&c, &e);
    ck_assert_ptr_nonnull(b);
    for (int i = 0; i < 6; i++) {
        int32_t *table = feed_table(90 * i % 480, BLOCKS, (uint64_t)i + 1);
        float got[VOCAB];
        feed_from(b, tokens, 0, N, 50 + i, table, got);
        same(got, "table", i);
        free(table);
    }
    backend_free(b);
    ref_model_free(model);
}
END_TEST

/* The sequence among up to seven others in prefill and decode; all share the pool, and some have
 * rows next to it in the same step. */
START_TEST(company) {
    setup(kinds[_i]);
    struct backend *b = feed_backend(model, 3, 8, 512, &kinds[_i].options);
    struct rng r;
    rng_seed(&r, 77);
    int32_t *tables[8], at[8] = {0}, lengths[8];
    for (int s = 0; s < 8; s++) {
        tables[s] = feed_table(32 * s, BLOCKS, (uint64_t)s + 1);
        lengths[s] = s == 3 ? N : 20 + (int32_t)rng_below(&r, 270);
    }
    float got[8 * VOCAB];
    while (at[3] < N) {
        struct backend_seq seqs[8];
        int32_t n = 0, where = -1, wanted = 0, budget = 512;
        for (int s = 0; s < 8; s++) {
            bool idle = s != 3 && rng_below(&r, 3) == 0;
            if (idle || at[s] == lengths[s]) continue;
            int32_t k = rng_below(&r, 2) ? 1 : 1 + (int32_t)rng_below(&r, 60);
            if (k > lengths[s] - at[s]) k = lengths[s] - at[s];
            if (k > budget) continue;
            budget -= k;
            bool want_logits = s == 3 || rng_below(&r, 2);
            if (s == 3) where = wanted;
            wanted += want_logits;
            seqs[n++] =
                (struct backend_seq){tokens + at[s], k, at[s], tables[s], BLOCKS, want_logits};
            at[s] += k;
        }
        feed_step(b, seqs, n, got);
        if (at[3] == N) same(got + where * VOCAB, "in company, place", where);
    }
    for (int s = 0; s < 8; s++) free(tables[s]);
    backend_free(b);
    ref_model_free(model);
}
END_TEST

/* The logits of any number of a step's last tokens are those of one token a step. */
START_TEST(several_rows_of_a_step) {
    setup(kinds[_i]);
    static float alone[N][VOCAB];
    float got[8 * VOCAB];
    struct backend *b = feed_backend(model, 2, 8, 64, &kinds[_i].options);
    int32_t *table = feed_table(0, BLOCKS, 0);
    for (int32_t at = 0; at < N; at++)
        feed_step(b, &(struct backend_seq){tokens + at, 1, at, table, BLOCKS, 1}, 1, alone[at]);
    struct rng r;
    rng_seed(&r, 5);
    for (int32_t at = 0, k; at < N; at += k) {
        k = 1 + (int32_t)rng_below(&r, 20);
        if (k > N - at) k = N - at;
        int32_t rows = (int32_t)rng_below(&r, (uint64_t)(k < 8 ? k : 8) + 1);
        feed_step(b, &(struct backend_seq){tokens + at, k, at, table, BLOCKS, rows}, 1, got);
        for (int32_t i = 0; i < rows; i++)
            ck_assert(compare_bits(got + i * VOCAB, alone[at + k - rows + i], VOCAB).ok);
    }
    struct err e;
    struct backend_seq bad = {tokens, 9, 0, table, BLOCKS, 9};
    ck_assert_int_eq(backend_step(b, &(struct backend_batch){&bad, 1}, got, &e), -1);
    bad = (struct backend_seq){tokens, 2, 0, table, BLOCKS, 3};
    ck_assert_int_eq(backend_step(b, &(struct backend_batch){&bad, 1}, got, &e), -1);
    free(table);
    backend_free(b);
    ref_model_free(model);
}
END_TEST

/* No row may read another sequence's blocks, which hold NaN. */
START_TEST(others_blocks_are_not_read) {
    setup(kinds[0]);
    struct backend *b = feed_backend(model, 2, 8, 512, NULL);
    ((float *)model->layers[0].bk.data)[0] = NAN; /* everything cached from here on is NaN */
    for (int s = 1; s < 8; s++) {
        int32_t *table = feed_table(32 * s, BLOCKS, 0);
        float junk[VOCAB];
        feed_from(b, tokens, 0, N, N, table, junk);
        ck_assert(!compare_bits(junk, want, VOCAB).ok);
        free(table);
    }
    struct model *again = ref_model(base_config, ROPE_NEIGHBOURS, true, DTYPE_F32, 21);
    ((float *)model->layers[0].bk.data)[0] = ((const float *)again->layers[0].bk.data)[0];
    int32_t *table = feed_table(0, BLOCKS, 0);
    float got[VOCAB];
    feed_from(b, tokens, 0, N, 70, table, got);
    same(got, "beside poisoned blocks", 0);
    free(table);
    backend_free(b);
    ref_model_free(again);
    ref_model_free(model);
}
END_TEST

/* Slots after the last token, in its block, are not read either. */
START_TEST(unwritten_slots_are_not_read) {
    setup(kinds[0]);
    struct backend *b = feed_backend(model, 2, 1, 0, NULL);
    int32_t *table = feed_table(0, BLOCKS + 1, 0);
    float got[VOCAB];
    int32_t longer[N + 15];
    memcpy(longer, tokens, sizeof tokens);
    ref_tokens(model, 9, longer + N, 15);
    ((float *)model->layers[0].bk.data)[0] = NAN;
    feed_from(b, longer, 0, N + 15, N + 15, table, got);
    struct model *again = ref_model(base_config, ROPE_NEIGHBOURS, true, DTYPE_F32, 21);
    ((float *)model->layers[0].bk.data)[0] = ((const float *)again->layers[0].bk.data)[0];
    feed_from(b, tokens, 0, N, 41, table, got);
    same(got, "before poisoned slots", 0);
    free(table);
    backend_free(b);
    ref_model_free(again);
    ref_model_free(model);
}
END_TEST

int main(void) {
    Suite *s = suite_create("invariance");
    TCase *t = tcase_create("invariance");
    suite_add_tcase(s, t);
    tcase_add_loop_test(t, cut_of_the_prompt, 0, N_KINDS);
    tcase_add_loop_test(t, threads, 0, N_KINDS);
    tcase_add_test(t, blocks_in_any_order);
    tcase_add_loop_test(t, company, 0, N_KINDS);
    tcase_add_loop_test(t, several_rows_of_a_step, 0, N_KINDS);
    tcase_add_test(t, others_blocks_are_not_read);
    tcase_add_test(t, unwritten_slots_are_not_read);
    return check_main(s);
}
