/* test_kv.c: the cache in half precision: attention within a derived bound of the cache in float,
 * its bytes, and what it does to a model's logits.
 */
#include "backend/cpu/attention.h"
#include "backend/cpu/tests/feeding.h"
#include "backend/cpu/tests/reference.h"
#include "testing/check_main.h"

enum {
    HEADS = 6,
    KV_HEADS = 2,
    DIM = 40,
    TOKENS = 150,
    BLOCKS = (TOKENS + 15) / 16,
    WIDTH = HEADS * DIM
};

static float q[TOKENS][WIDTH], k[TOKENS][KV_HEADS * DIM], v[TOKENS][KV_HEADS * DIM];

static void random_inputs(uint64_t seed) {
    struct rng r;
    rng_seed(&r, seed);
    for (int t = 0; t < TOKENS; t++) {
        for (int i = 0; i < WIDTH; i++) q[t][i] = ref_uniform(&r, 2);
        for (int i = 0; i < KV_HEADS * DIM; i++) k[t][i] = ref_uniform(&r, 2);
        for (int i = 0; i < KV_HEADS * DIM; i++) v[t][i] = ref_uniform(&r, 3);
    }
}

/* Attention of queries pos0 .. TOKENS - 1 over the cached keys and values. */
static void attend(bool half, int32_t pos0, float out[TOKENS][WIDTH]) {
    struct attention_shape shape = {HEADS, KV_HEADS, DIM, 1 / sqrtf(DIM), half, false, -1};
    size_t bytes = BLOCKS * KV_HEADS * attention_head_block(&shape);
    uint8_t *keys = calloc(1, bytes), *values = calloc(1, bytes);
    for (int32_t t = 0; t < TOKENS; t++)
        for (int32_t h = 0; h < KV_HEADS; h++) {
            size_t at = (size_t)(t / 16 * KV_HEADS + h) * attention_head_block(&shape);
            attention_put(&shape, keys + at, values + at, t % 16, k[t] + h * DIM, v[t] + h * DIM);
        }
    int32_t table[BLOCKS];
    for (int32_t i = 0; i < BLOCKS; i++) table[i] = i;
    struct err e;
    struct pool *pool = pool_create(2, &e);
    struct attention *a = attention_create(&shape, 2, 1, TOKENS, TOKENS);
    struct attention_span span = {table, pos0, TOKENS - pos0, 0};
    attention_plan(a, &span, 1);
    attention_run(a, pool, q[pos0], WIDTH, keys, values, 0, out[0], WIDTH);
    attention_free(a);
    pool_free(pool);
    free(keys);
    free(values);
}

/* Half precision rounds by 2^-11 of a number at most (all here are normal). A score therefore
 * changes by 2^-11 S at most, S = scale * sum |q k|; a weight by the factor e^(2 * 2^-11 S) at most
 * with the greatest S of the query; the result by the sum of both effects. */
START_TEST(attention_is_within_the_bound) {
    const double u = 0x1p-11;
    int32_t pos0 = _i ? TOKENS - 1 : 0; /* decode, prefill */
    static float exact[TOKENS][WIDTH], half[TOKENS][WIDTH];
    random_inputs(3);
    attend(false, pos0, exact);
    attend(true, pos0, half);
    double worst = 0;
    for (int32_t t = pos0; t < TOKENS; t++)
        for (int32_t h = 0; h < HEADS; h++) {
            int32_t g = h / (HEADS / KV_HEADS) * DIM;
            double most = 0;
            for (int32_t s = 0; s <= t; s++) {
                double sum = 0;
                for (int32_t d = 0; d < DIM; d++)
                    sum += fabs((double)q[t][h * DIM + d] * (double)k[s][g + d]);
                most = fmax(most, sum / sqrt(DIM));
            }
            for (int32_t d = 0; d < DIM; d++) {
                double size = 0; /* of the greatest value */
                for (int32_t s = 0; s <= t; s++) size = fmax(size, fabs((double)v[s][g + d]));
                double bound = size * (exp(2 * u * most) * (1 + u) - 1 + 1e-5);
                int32_t row = t - pos0, i = h * DIM + d;
                double error = fabs((double)(half[row][i] - exact[row][i]));
                ck_assert_msg(error <= bound, "query %d, value %d: %g, bound %g", t, i, error,
                              bound);
                worst = fmax(worst, error / bound);
            }
        }
    ck_assert_msg(worst > 0.01, "the bound is loose: %g of it is used", worst);
}
END_TEST

START_TEST(a_model_changes_little) {
    static const struct model_config config = {.name = "random",
                                               .vocab_size = 96,
                                               .d_model = 64,
                                               .n_layers = 3,
                                               .n_heads = 8,
                                               .n_kv_heads = 2,
                                               .head_dim = 16,
                                               .d_ffn = 96,
                                               .context_length = 256,
                                               .rope_theta = 10000,
                                               .rope_scale = 1,
                                               .rms_eps = 1e-5f};
    struct model *m = ref_model(config, ROPE_NEIGHBOURS, true, DTYPE_F32, 5);
    int32_t tokens[60], *table = feed_table(0, 4, 3);
    float logits[2][96];
    ref_tokens(m, 8, tokens, 60);
    for (int kv = 0; kv < 2; kv++) {
        struct backend_cpu_options o = {.kv = kv ? KV_F16 : KV_F32};
        struct backend *b = feed_backend(m, 2, 1, 0, &o);
        ck_assert_str_eq(b->info.kv_type, kv ? "f16" : "f32");
        ck_assert_int_eq((int)b->info.kv_bytes_per_token, (kv ? 2 : 4) * 2 * 3 * 2 * 16);
        feed_from(b, tokens, 0, 60, 23, table, logits[kv]);
        backend_free(b);
        /* the same bytes hold twice as many blocks */
        struct err e;
        struct backend_config c = {.model = m, .kv_bytes = 10 * 16 * 768};
        b = backend_cpu_create_with(&c, &o, &e);
        ck_assert_int_eq(b->info.kv_blocks, kv ? 20 : 10);
        backend_free(b);
    }
    double error = 0, size = 0;
    for (int i = 0; i < 96; i++) {
        error += pow((double)(logits[1][i] - logits[0][i]), 2);
        size += pow((double)logits[0][i], 2);
    }
    ck_assert_msg(error > 0, "f16 computed the same as f32");
    /* a rounding of 2^-12 on average, through three layers */
    ck_assert_msg(error < 0x1p-16 * size, "the error is %g of the logits", sqrt(error / size));
    free(table);
    ref_model_free(m);
}
END_TEST

int main(void) {
    Suite *s = suite_create("kv");
    TCase *t = tcase_create("kv");
    suite_add_tcase(s, t);
    tcase_add_loop_test(t, attention_is_within_the_bound, 0, 2);
    tcase_add_test(t, a_model_changes_little);
    return check_main(s);
}
