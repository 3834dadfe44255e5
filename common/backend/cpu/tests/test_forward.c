/* test_forward.c: the native backend against the double reference, on random models of every
 * variant and storage type. */
#include "backend/cpu/tests/feeding.h"
#include "backend/cpu/tests/reference.h"
#include "testing/check_main.h"

/* Float rounding through four layers gives errors of about 1e-6 of the greatest logit; a wrong
 * index anywhere gives 1e-2 and more. */
#define TOLERANCE 2e-5

static const struct variant {
    const char *name;
    int32_t d, layers, heads, kv, head_dim, ffn;
    enum rope_pairing rope;
    bool biased, tied, factors;
    float scale;              /* of positions; 0: not scaled */
    float yarn;               /* the magnitude; 0: none */
    int32_t window, windowed; /* bit i: layer i is windowed */
} variants[] = {
    {"MHA", 64, 2, 4, 4, 16, 96, .rope = ROPE_NEIGHBOURS},
    {"GQA", 64, 3, 6, 2, 16, 96, .rope = ROPE_NEIGHBOURS},
    {"one KV head, tied", 64, 2, 9, 1, 32, 96, .rope = ROPE_NEIGHBOURS, .tied = true},
    {"biased, halves", 96, 2, 6, 3, 16, 160, .rope = ROPE_HALVES, .biased = true, .tied = true},
    {"wide heads, factors", 64, 2, 4, 2, 64, 96, .rope = ROPE_NEIGHBOURS, .factors = true},
    {"head_dim 80, more heads than fit a tile", 32, 2, 70, 1, 80, 64, .rope = ROPE_HALVES,
     .biased = true, .factors = true},
    {"linear scaling", 64, 2, 4, 2, 32, 96, .rope = ROPE_NEIGHBOURS, .scale = 4},
    {"linear scaling and factors", 64, 2, 4, 2, 32, 96, .rope = ROPE_HALVES, .factors = true,
     .scale = 2.5f},
    {"yarn", 64, 2, 4, 2, 32, 96, .rope = ROPE_HALVES, .factors = true, .yarn = 1.2f},
    {"window", 64, 2, 4, 2, 32, 96, .rope = ROPE_HALVES, .window = 20, .windowed = 3},
    {"window of one token", 64, 2, 4, 2, 32, 96, .rope = ROPE_HALVES, .window = 1, .windowed = 3},
    {"window in one layer", 64, 3, 9, 1, 32, 96, .rope = ROPE_HALVES, .window = 131, .windowed = 2},
};
enum { N_VARIANTS = sizeof variants / sizeof *variants, VOCAB = 96, TOKENS = 150 };

static struct model *make(const struct variant *v, enum dtype type) {
    struct model_config c = {.name = "random",
                             .vocab_size = VOCAB,
                             .d_model = v->d,
                             .n_layers = v->layers,
                             .n_heads = v->heads,
                             .n_kv_heads = v->kv,
                             .head_dim = v->head_dim,
                             .d_ffn = v->ffn,
                             .context_length = 512,
                             .rope_theta = 10000,
                             .rope_scale = v->scale != 0 ? v->scale : 1,
                             .rms_eps = 1e-5f,
                             .tied = v->tied,
                             .yarn_magnitude = v->yarn,
                             .window = v->window};
    struct model *m = ref_model(c, v->rope, v->biased, type, 7);
    for (int32_t i = 0; i < v->layers; i++) m->layers[i].windowed = v->windowed >> i & 1;
    if (v->factors) {
        struct rng r;
        rng_seed(&r, 3);
        m->rope_factors = ref_tensor(&r, DTYPE_F32, 1, v->head_dim / 2, 4, 3);
    }
    return m;
}

/* Compares every position's logits, token by token, and the last position's after one step of all.
 */
static void against_reference(const struct model *m, const char *name, int32_t n) {
    int32_t *tokens = malloc((size_t)n * sizeof *tokens);
    int32_t vocab = m->config.vocab_size;
    double *want = malloc((size_t)n * (size_t)vocab * sizeof *want);
    float *got = malloc((size_t)vocab * sizeof *got);
    ref_tokens(m, 11, tokens, n);
    ref_forward(m, tokens, n, want);
    struct backend *b = feed_backend(m, 2, 1, 0, NULL);
    int32_t *table = feed_table(0, policy_blocks_for(n), 5);
    for (int32_t t = 0; t <= n; t++) {
        if (t < n)
            feed_from(b, tokens, t, t + 1, 1, table, got);
        else
            feed_from(b, tokens, 0, n, n, table, got);
        const double *w = want + (size_t)(t < n ? t : n - 1) * (size_t)vocab;
        struct comparison c = compare_floats(got, w, NULL, (size_t)vocab, TOLERANCE);
        char text[200];
        ck_assert_msg(c.ok, "%s, position %d: %s", name, t, comparison_text(&c, text, sizeof text));
    }
    free(tokens);
    free(want);
    free(got);
    free(table);
    backend_free(b);
}

START_TEST(variants_agree) {
    const struct variant *v = &variants[_i];
    struct model *m = make(v, DTYPE_F32);
    against_reference(m, v->name, TOKENS);
    ref_model_free(m);
}
END_TEST

static const enum dtype types[] = {DTYPE_F16, DTYPE_BF16, DTYPE_Q8_0, DTYPE_Q4_0, DTYPE_Q4_1};
START_TEST(stored_types_agree) {
    struct model *m = make(&variants[3], types[_i]);
    against_reference(m, dtype_name(types[_i]), 40);
    ref_model_free(m);
}
END_TEST

/* Widths that aren't multiples of a vector: 2, 10, 6, 14 and 18. */
START_TEST(odd_widths_agree) {
    const struct variant odd = {"odd",          10,          2, 3, 1, 6, 18, .rope = ROPE_HALVES,
                                .biased = true, .tied = true};
    const struct variant least = {"least", 2, 1, 1, 1, 2, 1, .rope = ROPE_NEIGHBOURS, .tied = true};
    const struct variant *v = _i ? &least : &odd;
    static const enum dtype plain[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16};
    for (int i = 0; i < 3; i++) {
        struct model *m = make(v, plain[i]);
        against_reference(m, v->name, 40);
        ref_model_free(m);
    }
}
END_TEST

/* Longer than one attention chunk and than a step: chunks are joined in both units of work. */
START_TEST(long_sequences_agree) {
    static const int32_t windows[] = {0, 100, 128, 200, 399};
    struct model *m = make(&variants[1], DTYPE_F32);
    m->config.window = windows[_i];
    m->layers[0].windowed = m->layers[2].windowed = windows[_i] > 0;
    enum { N = 400 };
    int32_t tokens[N];
    ref_tokens(m, 1, tokens, N);
    double *want = malloc(sizeof *want * N * VOCAB);
    ref_forward(m, tokens, N, want);
    struct backend *b = feed_backend(m, 2, 1, 170, NULL);
    int32_t *table = feed_table(0, policy_blocks_for(N), 9);
    float got[VOCAB];
    feed_from(b, tokens, 0, N, 170, table, got);
    char text[200];
    struct comparison c = compare_floats(got, want + (N - 1) * VOCAB, NULL, VOCAB, TOLERANCE);
    ck_assert_msg(c.ok, "%s", comparison_text(&c, text, sizeof text));
    for (int32_t cut = 0; cut < N; cut += 127) { /* then the same positions again, one at a time */
        feed_from(b, tokens, cut, cut + 1, 1, table, got);
        c = compare_floats(got, want + cut * VOCAB, NULL, VOCAB, TOLERANCE);
        ck_assert_msg(c.ok, "%s", comparison_text(&c, text, sizeof text));
    }
    free(want);
    free(table);
    backend_free(b);
    ref_model_free(m);
}
END_TEST

/* The comparison can fail: one changed weight in the last layer is seen. */
START_TEST(one_wrong_weight_is_seen) {
    struct model *m = make(&variants[0], DTYPE_F32);
    int32_t tokens[8];
    ref_tokens(m, 2, tokens, 8);
    double want[8 * VOCAB];
    ref_forward(m, tokens, 8, want);
    ((float *)m->layers[1].wv.data)[5] += 0.05f;
    struct backend *b = feed_backend(m, 1, 1, 0, NULL);
    int32_t table[1] = {0};
    float got[VOCAB];
    feed_from(b, tokens, 0, 8, 8, table, got);
    ck_assert(!compare_floats(got, want + 7 * VOCAB, NULL, VOCAB, TOLERANCE).ok);
    backend_free(b);
    ref_model_free(m);
}
END_TEST

int main(void) {
    Suite *s = suite_create("forward");
    TCase *t = tcase_create("forward");
    tcase_set_timeout(t, 300); /* under sanitizers on a busy machine */
    suite_add_tcase(s, t);
    tcase_add_loop_test(t, variants_agree, 0, N_VARIANTS);
    tcase_add_loop_test(t, stored_types_agree, 0, 5);
    tcase_add_loop_test(t, odd_widths_agree, 0, 2);
    tcase_add_loop_test(t, long_sequences_agree, 0, 5);
    tcase_add_test(t, one_wrong_weight_is_seen);
    return check_main(s);
}
