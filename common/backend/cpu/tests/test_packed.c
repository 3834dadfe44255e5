/* test_packed.c: integer products of packed weights, and the precision `fast` of the whole model.
 * Products of bfloat16 weights have tests of their own (test_packed_bf16.c).
 *
 * The products are compared bit for bit with a plain loop over the stored rows. Every kernel is
 * compared with it (test_other_kernels.sh), so all kernels give the same bits.
 */
#include "backend/cpu/dequant.h"
#include "backend/cpu/packed.h"
#include "backend/cpu/tests/feeding.h"
#include "backend/cpu/tests/reference.h"
#include "testing/check_main.h"

enum { ROWS = 40, COLS = 96, BLOCKS = COLS / 32, MAX_TOKENS = 21, VOCAB = 96, N = 60 };

static const enum dtype types[] = {DTYPE_Q8_0, DTYPE_Q4_0, DTYPE_Q4_1, DTYPE_BF16};
enum { N_INTEGER = 3, N_TYPES = 4 };

/* ---- products -------------------------------------------------------------------------------- */

static float x[MAX_TOKENS][COLS];

static void random_x(uint64_t seed) {
    struct rng r;
    rng_seed(&r, seed);
    for (int t = 0; t < MAX_TOKENS; t++)
        for (int c = 0; c < COLS; c++) x[t][c] = ref_uniform(&r, 1 << (c / 32 + t % 5));
}

/* The rounding rule in double, where x * inverse is exact. */
static float round_block(const float *from, double codes[32]) {
    float most = 0;
    for (int i = 0; i < 32; i++) most = fmaxf(most, fabsf(from[i]));
    float inverse = 127 / most;
    for (int i = 0; i < 32; i++)
        codes[i] = most > 0 ? nearbyint((double)from[i] * (double)inverse) : 0;
    return most / 127;
}

/* A stored block's codes, and its scale and minimum. */
static float stored_block(const struct tensor *w, int32_t row, int32_t b, double codes[32],
                          float *m) {
    size_t header = w->dtype == DTYPE_Q4_1 ? 4 : 2, codes_n = w->dtype == DTYPE_Q8_0 ? 32 : 16;
    const uint8_t *p = (const uint8_t *)w->data + (size_t)row * dtype_row_bytes(w->dtype, w->cols) +
                       (size_t)b * (header + codes_n);
    for (int i = 0; i < 32; i++)
        codes[i] = w->dtype == DTYPE_Q8_0
                       ? (int8_t)p[2 + i]
                       : (i < 16 ? p[header + (size_t)i] & 15 : p[header + (size_t)i - 16] >> 4) -
                             (w->dtype == DTYPE_Q4_0 ? 8 : 0);
    *m = w->dtype == DTYPE_Q4_1 ? (float)ref_half(p + 2) : 0;
    return (float)ref_half(p);
}

static float plain_product(const struct tensor *w, int32_t row, const float *xt) {
    float sum = 0;
    for (int32_t b = 0; b < BLOCKS; b++) {
        double wc[32], xc[32], isum = 0, xsum = 0;
        float m, d = stored_block(w, row, b, wc, &m), scale = round_block(xt + 32 * b, xc);
        for (int i = 0; i < 32; i++) {
            isum += wc[i] * xc[i];
            xsum += xc[i];
        }
        sum = fmaf((float)isum, d * scale, sum);
        if (w->dtype == DTYPE_Q4_1) sum = fmaf(m, scale * (float)xsum, sum);
    }
    return sum;
}

static void *packed_of(const struct tensor *w) {
    size_t bytes = packed_group_bytes(w->dtype, w->cols), row = dtype_row_bytes(w->dtype, w->cols);
    uint8_t *groups = aligned_alloc(64, bytes * ((ROWS + 15) / 16));
    for (int32_t r0 = 0; r0 < w->rows; r0 += 16) {
        const void *rows[16] = {0};
        for (int32_t i = 0; i < 16 && r0 + i < w->rows; i++)
            rows[i] = (const uint8_t *)w->data + (size_t)(r0 + i) * row;
        packed_group(w->dtype, w->cols, rows, groups + (size_t)(r0 / 16) * bytes);
    }
    return groups;
}

/* Rows row0 .. of w times the first `tokens` tokens of x. */
static void fast_products(const struct tensor *w, int32_t row0, int32_t tokens,
                          float got[MAX_TOKENS][ROWS]) {
    void *groups = packed_of(w),
         *rounded = aligned_alloc(64, packed_x_bytes(PACKED_X_INT8, tokens, COLS));
    for (int32_t t = 0; t < tokens; t++)
        packed_x_row(PACKED_X_INT8, x[t], COLS, t, tokens, rounded);
    struct sink k = {got[0], ROWS, NULL, false};
    packed_times(w, groups, row0, w->rows - row0, rounded, tokens, &k);
    free(groups);
    free(rounded);
}

static struct tensor random_matrix(enum dtype t) {
    struct rng r;
    rng_seed(&r, 11);
    return ref_tensor(&r, t, ROWS, COLS, 0, 0.3);
}

START_TEST(products_have_the_plain_loops_bits) {
    struct tensor w = random_matrix(types[_i]);
    random_x(5);
    for (int32_t tokens = 1; tokens <= MAX_TOKENS; tokens++)
        for (int32_t row0 = 0; row0 < ROWS; row0 += 16) {
            float got[MAX_TOKENS][ROWS];
            fast_products(&w, row0, tokens, got);
            for (int32_t t = 0; t < tokens; t++)
                for (int32_t r = 0; r < ROWS - row0; r++) {
                    float want = plain_product(&w, row0 + r, x[t]);
                    ck_assert_msg(!memcmp(&got[t][r], &want, 4), "token %d of %d, row %d: %a, %a",
                                  t, tokens, row0 + r, (double)got[t][r], (double)want);
                }
        }
    free((void *)w.data);
}
END_TEST

START_TEST(rows_come_back_from_the_packed_form) {
    struct tensor w = random_matrix(types[_i]);
    void *groups = packed_of(&w);
    for (int32_t r = 0; r < ROWS; r++) {
        float got[COLS], want[COLS];
        packed_row(&w, groups, r, got);
        dequant_row(&w, r, want);
        ck_assert(compare_bits(got, want, COLS).ok);
    }
    free(groups);
    free((void *)w.data);
}
END_TEST

/* A code is wrong by half at most, so a product differs from the exact one by at most half a scale
 * for each weight, and by rounding in float. */
START_TEST(products_are_near_the_exact_ones) {
    struct tensor w = random_matrix(types[_i]);
    random_x(6);
    float got[MAX_TOKENS][ROWS];
    fast_products(&w, 0, MAX_TOKENS, got);
    double worst = 0;
    for (int32_t t = 0; t < MAX_TOKENS; t++)
        for (int32_t r = 0; r < ROWS; r++) {
            double exact = 0, bound = 0, magnitude = 0;
            for (int32_t c = 0; c < COLS; c++) {
                double codes[32], v = ref_value(&w, r, c);
                bound += fabs(v) * (double)round_block(x[t] + c / 32 * 32, codes) / 2;
                exact += v * (double)x[t][c];
                magnitude += fabs(v * (double)x[t][c]);
            }
            double error = fabs((double)got[t][r] - exact);
            ck_assert_msg(error <= bound + 1e-5 * magnitude, "token %d, row %d: %g, %g +- %g", t, r,
                          (double)got[t][r], exact, bound);
            worst = fmax(worst, error / bound);
        }
    ck_assert_msg(worst > 0.05, "the bound is loose: %g of it is used", worst);
    free((void *)w.data);
}
END_TEST

START_TEST(extreme_codes_do_not_overflow) {
    static const uint8_t filled[] = {0x00, 0x7f, 0x80, 0xff, 0x0f, 0xf0};
    for (size_t f = 0; f < sizeof filled; f++)
        for (int sign = -1; sign <= 1; sign += 2) {
            struct tensor w = random_matrix(types[_i]);
            size_t header = types[_i] == DTYPE_Q4_1 ? 4 : 2;
            size_t block = header + (types[_i] == DTYPE_Q8_0 ? 32 : 16);
            for (size_t i = 0; i < ROWS * BLOCKS * block; i++)
                if (i % block >= header) ((uint8_t *)w.data)[i] = filled[f];
            for (int c = 0; c < COLS; c++) x[0][c] = (float)sign;
            float got[MAX_TOKENS][ROWS];
            fast_products(&w, 0, 1, got);
            for (int32_t r = 0; r < ROWS; r++) ck_assert(got[0][r] == plain_product(&w, r, x[0]));
            free((void *)w.data);
        }
}
END_TEST

START_TEST(a_block_that_is_not_finite_gives_nan) {
    struct tensor w = random_matrix(types[_i]);
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        float got[MAX_TOKENS][ROWS];
        random_x(7);
        x[1][40] = bad[i];
        fast_products(&w, 0, 3, got);
        for (int32_t r = 0; r < ROWS; r++) {
            ck_assert(isnan(got[1][r]));
            ck_assert(!isnan(got[0][r]) && !isnan(got[2][r]));
        }
    }
    for (int c = 0; c < COLS; c++) x[0][c] = c % 2 ? 0x1p-125f : -0x1p-149f; /* round to zero */
    float got[MAX_TOKENS][ROWS];
    fast_products(&w, 0, 1, got);
    for (int32_t r = 0; r < ROWS; r++) ck_assert(got[0][r] == 0);
    free((void *)w.data);
}
END_TEST

/* ---- the model ------------------------------------------------------------------------------- */

static const struct model_config config = {.name = "random",
                                           .vocab_size = VOCAB,
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

static void logits_of(const struct model *m, struct backend_cpu_options o, float *out) {
    int32_t tokens[N];
    ref_tokens(m, 8, tokens, N);
    struct backend *b = feed_backend(m, 2, 1, 0, &o);
    ck_assert_str_eq(b->info.precision, o.precision == PRECISION_FAST ? "fast" : "exact");
    int32_t *table = feed_table(0, policy_blocks_for(N), 3);
    feed_from(b, tokens, 0, N, 23, table, out);
    free(table);
    backend_free(b);
}

/* The whole model: 22 products one after another. Each has an error of about 1/127/sqrt(12) of a
 * block's greatest value, or with BF16 of at most 2^-8 of each value. 5 % and 1 % of the logits'
 * root mean square bound what they add up to. */
static void fast_is_within(double bound, const struct model *m) {
    float exact[VOCAB], fast[VOCAB];
    logits_of(m, (struct backend_cpu_options){0}, exact);
    logits_of(m, (struct backend_cpu_options){.precision = PRECISION_FAST}, fast);
    double error = 0, size = 0;
    for (int i = 0; i < VOCAB; i++) {
        error += pow((double)(fast[i] - exact[i]), 2);
        size += pow((double)exact[i], 2);
    }
    ck_assert_msg(error > 0, "fast computed the same as exact");
    ck_assert_msg(error < bound * bound * size, "the error is %g of the logits",
                  sqrt(error / size));
}

START_TEST(fast_logits_are_near_the_exact_ones) {
    struct model *m = ref_model(config, ROPE_NEIGHBOURS, true, types[_i], 5);
    fast_is_within(types[_i] == DTYPE_BF16 ? 0.01 : 0.05, m);
    ref_model_free(m);
}
END_TEST

/* Q, K and V are products of the same activations, which each type rounds in its own way. */
START_TEST(types_may_differ_within_a_layer) {
    static const enum dtype mixed[] = {DTYPE_BF16, DTYPE_Q8_0, DTYPE_F16};
    struct model *m = ref_model(config, ROPE_NEIGHBOURS, true, DTYPE_Q8_0, 5);
    struct rng r;
    rng_seed(&r, 2);
    for (int32_t i = 0; i < config.n_layers; i++) {
        struct tensor *w[] = {&m->layers[i].wq, &m->layers[i].wk, &m->layers[i].wv};
        for (int k = 0; k < 3; k++) {
            free((void *)w[k]->data);
            *w[k] = ref_tensor(&r, mixed[(i + k) % 3], w[k]->rows, w[k]->cols, 0, 0.1);
        }
    }
    fast_is_within(0.05, m);
    ref_model_free(m);
}
END_TEST

START_TEST(fast_changes_nothing_for_float_and_half_weights) {
    static const enum dtype plain[] = {DTYPE_F32, DTYPE_F16};
    struct model *m = ref_model(config, ROPE_NEIGHBOURS, true, plain[_i], 5);
    float exact[VOCAB], fast[VOCAB];
    logits_of(m, (struct backend_cpu_options){0}, exact);
    logits_of(m, (struct backend_cpu_options){.precision = PRECISION_FAST}, fast);
    ck_assert(compare_bits(fast, exact, VOCAB).ok);
    ref_model_free(m);
}
END_TEST

/* Weights that are rounded on loading are packed as the same weights from a file are; so is a tied
 * head, whose rows are looked up, too. */
START_TEST(rounded_weights_are_packed) {
    static const struct {
        enum dtype stored;
        enum backend_weights same, other;
    } cases[] = {{DTYPE_Q8_0, WEIGHTS_INT8, WEIGHTS_INT4}, {DTYPE_BF16, WEIGHTS_BF16, WEIGHTS_F32}};
    struct model_config tied = config;
    tied.tied = _i % 2;
    struct model *m = ref_model(tied, ROPE_NEIGHBOURS, true, cases[_i / 2].stored, 5);
    float stored[VOCAB], rounded[VOCAB];
    logits_of(m, (struct backend_cpu_options){.precision = PRECISION_FAST}, stored);
    struct backend_cpu_options o = {.precision = PRECISION_FAST, .weights = cases[_i / 2].same};
    logits_of(m, o, rounded);
    ck_assert(compare_bits(rounded, stored, VOCAB).ok);
    o.weights = cases[_i / 2].other;
    logits_of(m, o, rounded);
    ck_assert(!compare_bits(rounded, stored, VOCAB).ok);
    ref_model_free(m);
}
END_TEST

int main(void) {
    Suite *s = suite_create("packed");
    TCase *t = tcase_create("packed");
    suite_add_tcase(s, t);
    tcase_add_loop_test(t, products_have_the_plain_loops_bits, 0, N_INTEGER);
    tcase_add_loop_test(t, rows_come_back_from_the_packed_form, 0, N_INTEGER);
    tcase_add_loop_test(t, products_are_near_the_exact_ones, 0, N_INTEGER);
    tcase_add_loop_test(t, extreme_codes_do_not_overflow, 0, N_INTEGER);
    tcase_add_loop_test(t, a_block_that_is_not_finite_gives_nan, 0, N_INTEGER);
    tcase_add_loop_test(t, fast_logits_are_near_the_exact_ones, 0, N_TYPES);
    tcase_add_test(t, types_may_differ_within_a_layer);
    tcase_add_loop_test(t, fast_changes_nothing_for_float_and_half_weights, 0, 2);
    tcase_add_loop_test(t, rounded_weights_are_packed, 0, 4);
    return check_main(s);
}
