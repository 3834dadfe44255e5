/* test_packed_bf16.c: products of packed bfloat16 weights.
 *
 * The products are compared bit for bit with a plain loop over the stored rows that rounds by
 * arithmetic in double and sums with fmaf. Every kernel is compared with it
 * (test_other_kernels.sh), so all kernels give the same bits.
 */
#include "backend/cpu/dequant.h"
#include "backend/cpu/packed.h"
#include "backend/cpu/tests/reference.h"
#include "testing/check_main.h"

enum { ROWS = 72, MAX_COLS = 577, MAX_TOKENS = 13 };

static const int32_t widths[] = {1, 2, 31, 96, MAX_COLS};
enum { N_WIDTHS = sizeof widths / sizeof *widths };

static float x[MAX_TOKENS][MAX_COLS];
static uint16_t weights[ROWS * MAX_COLS];

/* ---- the plain loop -------------------------------------------------------------------------- */

/* The multiple of 2^(e - 8) next to v, where 2^(e - 1) <= |v| < 2^e; nearbyint takes the even one
 * of two. */
static float rounded(float v) {
    int e;
    if (!isfinite(v) || v == 0) return v;
    frexp((double)v, &e);
    return (float)ldexp(nearbyint(ldexp((double)v, 8 - e)), e - 8);
}

static float flushed(float v) {
    return fabsf(v) < 0x1p-56f ? 0 : v;
}

static float plain_product(const struct tensor *w, int32_t row, const float *xt) {
    float sum = 0;
    for (int32_t c = 0; c < w->cols; c += 2)
        for (int32_t i = 1; i >= 0; i--)
            if (c + i < w->cols)
                sum = fmaf(flushed((float)ref_value(w, row, c + i)), flushed(rounded(xt[c + i])),
                           sum);
    return sum;
}

/* ---- random data ----------------------------------------------------------------------------- */

/* A number of either sign whose exponent is `around` plus or minus `spread`. */
static float at_exponent(struct rng *r, int around, int spread) {
    int e = around - spread + (int)rng_below(r, 2 * (uint64_t)spread + 1);
    return (float)ldexp((double)ref_uniform(r, 1), e);
}

static struct tensor random_case(int32_t cols, int around, int spread, uint64_t seed) {
    struct rng r;
    rng_seed(&r, seed);
    for (int32_t t = 0; t < MAX_TOKENS; t++)
        for (int32_t c = 0; c < cols; c++) x[t][c] = at_exponent(&r, around, spread);
    for (int32_t i = 0; i < ROWS * cols; i++)
        weights[i] = f32_to_bf16(at_exponent(&r, around, spread));
    return (struct tensor){weights, DTYPE_BF16, ROWS, cols};
}

static void *packed_of(const struct tensor *w) {
    size_t bytes = packed_group_bytes(DTYPE_BF16, w->cols);
    uint8_t *groups = aligned_alloc(64, bytes * ((ROWS + 15) / 16));
    for (int32_t r0 = 0; r0 < w->rows; r0 += 16) {
        const void *rows[16] = {0};
        for (int32_t i = 0; i < 16 && r0 + i < w->rows; i++) rows[i] = weights + (r0 + i) * w->cols;
        packed_group(DTYPE_BF16, w->cols, rows, groups + (size_t)(r0 / 16) * bytes);
    }
    return groups;
}

static void products(const struct tensor *w, int32_t row0, int32_t n, int32_t tokens,
                     float got[MAX_TOKENS][ROWS]) {
    void *groups = packed_of(w);
    void *to = aligned_alloc(64, packed_x_bytes(PACKED_X_BF16, tokens, w->cols));
    for (int32_t t = 0; t < tokens; t++) packed_x_row(PACKED_X_BF16, x[t], w->cols, t, tokens, to);
    struct sink k = {got[0], ROWS, NULL, false};
    packed_times(w, groups, row0, n, to, tokens, &k);
    free(groups);
    free(to);
}

static void same_bits(const struct tensor *w, int32_t row0, int32_t n, int32_t tokens) {
    float got[MAX_TOKENS][ROWS];
    products(w, row0, n, tokens, got);
    for (int32_t t = 0; t < tokens; t++)
        for (int32_t r = 0; r < n; r++) {
            float want = plain_product(w, row0 + r, x[t]);
            ck_assert_msg(!memcmp(&got[t][r], &want, 4),
                          "%d columns, token %d of %d, row %d: %a, %a", w->cols, t, tokens,
                          row0 + r, (double)got[t][r], (double)want);
        }
}

/* ---- tests ----------------------------------------------------------------------------------- */

START_TEST(products_have_the_plain_loops_bits) {
    struct tensor w = random_case(widths[_i], 0, 6, 5);
    for (int32_t tokens = 1; tokens <= MAX_TOKENS; tokens++)
        for (int32_t row0 = 0; row0 < ROWS; row0 += 16) same_bits(&w, row0, ROWS - row0, tokens);
    for (int32_t n = 1; n <= ROWS; n++) same_bits(&w, 0, n, 3);
}
END_TEST

/* Around the least magnitude, where products and sums come near the least normal float; and where
 * sums overflow. */
START_TEST(the_least_and_the_greatest_numbers) {
    static const int around[] = {-56, -56, -60, 40, 63};
    for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
        struct tensor w = random_case(widths[_i], around[i], i == 0 ? 1 : 4, 100 + i);
        same_bits(&w, 0, ROWS, MAX_TOKENS);
    }
    for (int32_t c = 0; c < widths[_i]; c++) x[0][c] = c % 2 ? 0x1p-149f : -0x1p-57f; /* zeros */
    struct tensor w = random_case(widths[_i], -140, 9, 9);
    same_bits(&w, 0, ROWS, 1);
}
END_TEST

/* With the weight 1, the product is the rounded activation. */
START_TEST(activations_are_rounded_to_nearest_even) {
    static const float cases[][2] = {{1, 1},
                                     {0x1.01p0f, 0x1p0f}, /* halfway, to even */
                                     {0x1.010002p0f, 0x1.02p0f},
                                     {0x1.03p0f, 0x1.04p0f},
                                     {-0x1.03p0f, -0x1.04p0f},
                                     {0x1.ffp5f, 0x1p6f},
                                     {0x1p-56f, 0x1p-56f},
                                     {0x1.fep-57f, 0},
                                     {0x1.fffp-57f, 0x1p-56f},
                                     {-0x1.5p-100f, 0},
                                     {0x1.fep127f, 0x1.fep127f},
                                     {0x1.ffp127f, INFINITY},
                                     {-INFINITY, -INFINITY}};
    weights[0] = f32_to_bf16(1);
    struct tensor w = {weights, DTYPE_BF16, 1, 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float got[MAX_TOKENS][ROWS];
        x[0][0] = cases[i][0];
        products(&w, 0, 1, 1, got);
        ck_assert_msg(got[0][0] == cases[i][1], "%a became %a", (double)cases[i][0],
                      (double)got[0][0]);
    }
}
END_TEST

START_TEST(rows_come_back_from_the_packed_form) {
    struct tensor w = random_case(widths[_i], -50, 10, 3);
    void *groups = packed_of(&w);
    int32_t padded = (w.cols + 31) / 32 * 32;
    for (int32_t r = 0; r < ROWS; r++) {
        float got[MAX_COLS + 31];
        packed_row(&w, groups, r, got);
        for (int32_t c = 0; c < padded; c++)
            ck_assert(got[c] == (c < w.cols ? flushed((float)ref_value(&w, r, c)) : 0));
    }
    free(groups);
}
END_TEST

/* Rounding changes an activation by 2^-8 of it at most; each of the additions in float changes the
 * sum by 2^-24 of it. */
START_TEST(products_are_near_the_exact_ones) {
    struct tensor w = random_case(widths[_i], 0, 3, 6);
    float got[MAX_TOKENS][ROWS];
    products(&w, 0, ROWS, MAX_TOKENS, got);
    double worst = 0;
    for (int32_t t = 0; t < MAX_TOKENS; t++)
        for (int32_t r = 0; r < ROWS; r++) {
            double exact = 0, magnitude = 0;
            for (int32_t c = 0; c < w.cols; c++) {
                exact += ref_value(&w, r, c) * (double)x[t][c];
                magnitude += fabs(ref_value(&w, r, c) * (double)x[t][c]);
            }
            double used =
                fabs((double)got[t][r] - exact) / (magnitude * (0x1p-8 + w.cols * 0x1p-24));
            ck_assert_msg(used <= 1, "token %d, row %d: %g, %g", t, r, (double)got[t][r], exact);
            worst = fmax(worst, used);
        }
    ck_assert_msg(worst > 0.05, "the bound is loose: %g of it is used", worst);
}
END_TEST

START_TEST(a_nan_stays_in_its_token) {
    struct tensor w = random_case(widths[_i], 0, 3, 8);
    float got[MAX_TOKENS][ROWS];
    uint32_t bits = 0x7f800001; /* a NaN that has no bit set above the 16 that are cut */
    memcpy(&x[1][w.cols - 1], &bits, 4);
    products(&w, 0, ROWS, 3, got);
    for (int32_t r = 0; r < ROWS; r++) {
        ck_assert(isnan(got[1][r]));
        ck_assert(!isnan(got[0][r]) && !isnan(got[2][r]));
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("packed_bf16");
    TCase *t = tcase_create("packed_bf16");
    suite_add_tcase(s, t);
    tcase_add_loop_test(t, products_have_the_plain_loops_bits, 0, N_WIDTHS);
    tcase_add_loop_test(t, the_least_and_the_greatest_numbers, 0, N_WIDTHS);
    tcase_add_test(t, activations_are_rounded_to_nearest_even);
    tcase_add_loop_test(t, rows_come_back_from_the_packed_form, 0, N_WIDTHS);
    tcase_add_loop_test(t, products_are_near_the_exact_ones, 0, N_WIDTHS);
    tcase_add_loop_test(t, a_nan_stays_in_its_token, 0, N_WIDTHS);
    return check_main(s);
}
