/* test_kernel_reference.c: the kernels' mathematics against numbers worked out on paper. What a
 * second program in another language says is check_kernels_torch.py's and test_kernel_golden's. */
#include "backend/kernel_reference.h"

#include "testing/check_main.h"

#include <math.h>

static void near_to(const char *what, const double *got, const double *want, int n) {
    for (int i = 0; i < n; i++)
        ck_assert_msg(fabs(got[i] - want[i]) <= 1e-6 * (1 + fabs(want[i])),
                      "%s[%d]: got %.9g, want %.9g", what, i, got[i], want[i]);
}

#define LN3 1.0986123f

START_TEST(bf16_is_rounded_to_nearest_even) {
    ck_assert_uint_eq(reference_bf16_nearest(1.5), 0x3fc0);
    ck_assert_uint_eq(reference_bf16_nearest(1 + 0x1p-8), 0x3f80);           /* tie: to even */
    ck_assert_uint_eq(reference_bf16_nearest(1 + 3 * 0x1p-8), 0x3f82);       /* tie: to even */
    ck_assert_uint_eq(reference_bf16_nearest(1 + 0x1p-8 + 0x1p-20), 0x3f81); /* above it */
    ck_assert_uint_eq(reference_bf16_nearest(-0.0), 0x8000);
    ck_assert_double_eq(reference_bf16(0x3fc0), 1.5);
    ck_assert_double_eq(reference_bf16(0xc248), -50);
}
END_TEST

START_TEST(rows_by_hand) {
    double out[8], residual[4];
    reference_copy_strided(out, (float[]){1, 2, 9, 3, 4, 9}, 2, 2, 3);
    near_to("copy", out, (double[]){1, 2, 3, 4}, 4);

    /* 2 + 1, 3 + 1; mean square 12.5; with eps 3.5 the root is 4 */
    reference_rmsnorm(out, residual, (float[]){2, 3}, (float[]){1, 1}, (float[]){1, 2}, 1, 2, 3.5);
    near_to("residual", residual, (double[]){3, 4}, 2);
    near_to("rmsnorm", out, (double[]){0.75, 2}, 2);

    reference_softmax(out, (float[]){0, LN3, 900, 900}, 2, 2);
    near_to("softmax", out, (double[]){0.25, 0.75, 0.5, 0.5}, 4);

    reference_swiglu(out, (float[]){0, 1, 5, 2}, 1, 2);
    near_to("swiglu", out, (double[]){0, 2 * 0.7310585786}, 2);

    reference_embedding(out, (uint16_t[]){0, 0, 0x3fc0, 0x3f80, 0xc248, 0}, (int32_t[]){2, 1}, 2,
                        2);
    near_to("embedding", out, (double[]){-50, 0, 1.5, 1}, 4);
}
END_TEST

START_TEST(products_by_hand) {
    double out[4];
    reference_gemm(out, (float[]){1, 2, 3, 4}, (float[]){5, 6, 7, 8}, 2, 2, 2);
    near_to("gemm", out, (double[]){19, 22, 43, 50}, 4);
    reference_gemm(out, (float[]){1, 2, 3}, (float[]){1, 10, 100}, 1, 1, 3);
    near_to("gemm", out, (double[]){321}, 1);
    reference_gemv(out, (uint16_t[]){0x3f80, 0x3fc0, 0xc248, 0}, (float[]){2, 4}, 2, 2);
    near_to("gemv", out, (double[]){8, -100}, 2);
    reference_gemv_int8(out, (int8_t[]){-127, 1, 2, 3}, (float[]){0.5f, 10}, (float[]){1, 7}, 2, 2);
    near_to("gemv_int8", out, (double[]){-60, 230}, 2);
}
END_TEST

/* Two tokens, one query head, two KV heads, four values a head: pairs are (0, 2) and (1, 3). */
START_TEST(rope_by_hand) {
    double q[8], kpool[256] = {0}, vpool[256] = {0};
    const float cosines[] = {1, 1, 0, 1},
                sines[] = {0, 0, 1, 0}; /* position 1 turns pair 0 by 90 */
    const float k[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    const float v[16] = {21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36};
    reference_rope(q, kpool, vpool, (float[]){1, 2, 3, 4, 1, 2, 3, 4}, k, v, cosines, sines,
                   (int32_t[]){1, 0}, (int32_t[]){16 + 3, 5}, 2, (struct reference_heads){1, 2, 4});
    near_to("q", q, (double[]){-3, 2, 1, 4, 1, 2, 3, 4}, 8);
    /* token 0: block 1, slot 3; a block has 2 heads of 16 slots of 4 values */
    near_to("k head 0", kpool + ((1 * 2 + 0) * 16 + 3) * 4, (double[]){-3, 2, 1, 4}, 4);
    near_to("k head 1", kpool + ((1 * 2 + 1) * 16 + 3) * 4, (double[]){-7, 6, 5, 8}, 4);
    near_to("v head 1", vpool + ((1 * 2 + 1) * 16 + 3) * 4, (double[]){25, 26, 27, 28}, 4);
    near_to("token 1", kpool + ((0 * 2 + 1) * 16 + 5) * 4, (double[]){13, 14, 15, 16}, 4);
    int written = 0;
    for (int i = 0; i < 256; i++) written += kpool[i] != 0;
    ck_assert_int_eq(written, 16);
}
END_TEST

enum { HEAD = 2 * 16 }; /* values of one head in one block: 16 slots of 2 */

/* Two query heads on one KV head of two values. Keys are (p, 0) for position p, so that query (q,
 * 0) scores q p; values are (1, p). Logical block 0 is in physical block 1. */
static struct reference_cache cache_by_hand(uint16_t *k, uint16_t *v) {
    for (int i = 0; i < 2 * HEAD; i++) k[i] = v[i] = 0;
    for (int p = 0; p < 17; p++) {
        int at = (p < 16 ? 1 : 0) * HEAD + p % 16 * 2;
        k[at] = v[at + 1] = reference_bf16_nearest(p);
        v[at] = 0x3f80;
    }
    return (struct reference_cache){k, v, {2, 1, 2}, 0.5};
}

START_TEST(prefill_by_hand) {
    uint16_t k[2 * HEAD], v[2 * HEAD];
    struct reference_cache c = cache_by_hand(k, v);
    double out[8];
    const int32_t table[] = {1, 0};
    /* tokens at positions 0 and 1; head 0 asks (2 ln 3, 0): scores 0 and ln 3; head 1 asks 0 */
    reference_attention_prefill(out, (float[]){5, 5, 7, 7, 2 * LN3, 0, 0, 0}, &c, table, 0, 2);
    near_to("out", out, (double[]){1, 0, 1, 0, 1, 0.75, 1, 0.5}, 8);
    /* a token at position 16 sees all of 17 keys, over the block's border: the mean of 0 .. 16 */
    reference_attention_prefill(out, (float[]){0, 1, 0, 1}, &c, table, 16, 1);
    near_to("out", out, (double[]){1, 8, 1, 8}, 4);
}
END_TEST

START_TEST(decode_and_merge_by_hand) {
    uint16_t k[2 * HEAD], v[2 * HEAD];
    struct reference_cache c = cache_by_hand(k, v);
    double partial[12], greatest[6], sum[6], out[4];
    const int32_t table[] = {1, 0};
    /* head 0 asks 0: 16 keys of score 0 in split 0, one in split 1, none in split 2. Head 1 asks (2
     * ln 3, 0): scores p ln 3, so that the sum is 1 + 1/3 + 1/9 + ... */
    reference_attention_decode(partial, greatest, sum, (float[]){0, 0, 2 * LN3, 0}, &c, table,
                               (int32_t[]){17}, 1, 2, 3);
    near_to("sum", sum, (double[]){16, 1, 0, 1.5, 1, 0}, 6);
    near_to("max", greatest, (double[]){0, 0, 0, 15 * 1.0986123, 16 * 1.0986123, 0}, 6);
    near_to("partial", partial, (double[]){16, 120, 1, 16, 0, 0}, 6);

    /* weights 1 and 3: (1 * 2 + 3 * 1) / (1 * 2 + 3 * 2); an empty split's maximum counts for
     * nothing */
    reference_attention_merge(out, (float[]){2, 0, 1, 4, 0, 0}, (float[]){5, 5 + LN3, 99},
                              (float[]){2, 2, 0}, 1, 2, 3);
    near_to("merged", out, (double[]){5.0 / 8, 12.0 / 8}, 2);
}
END_TEST

START_TEST(argmax_takes_the_lowest_of_equals) {
    ck_assert_int_eq(reference_argmax((float[]){1, 7, 3, 7}, 4), 1);
    ck_assert_int_eq(reference_argmax((float[]){-5, -5}, 2), 0);
    ck_assert_int_eq(reference_argmax((float[]){-5, -4}, 2), 1);
}
END_TEST

/* Weights 1, 4, 2, 3. */
static const float four[] = {0, 1.3862944f, 0.6931472f, LN3};

static int32_t draw(double uniform, int64_t top_k, double top_p) {
    return reference_sample(four, uniform, &(struct reference_sampling){4, top_k, 1, top_p});
}

START_TEST(sampling_by_hand) {
    ck_assert_int_eq(draw(0, 0, 1), 0);
    ck_assert_int_eq(draw(0.05, 0, 1), 0);
    ck_assert_int_eq(draw(0.3, 0, 1), 1);
    ck_assert_int_eq(draw(0.6, 0, 1), 2);
    ck_assert_int_eq(draw(0.9, 0, 1), 3);
    ck_assert_int_eq(draw(0.9, 9, 1), 3); /* top_k beyond the vocabulary: all */
    ck_assert_int_eq(draw(0.5, 2, 1), 1); /* 4 and 3 are kept */
    ck_assert_int_eq(draw(0.6, 2, 1), 3);
    ck_assert_int_eq(draw(0.0, 2, 1), 1);
    ck_assert_int_eq(draw(0.99, 1, 1), 1);
    ck_assert_int_eq(draw(0.6, 0, 0.5), 3);   /* 4 + 3 reach 5 of 10 */
    ck_assert_int_eq(draw(0.99, 0, 0.39), 1); /* 4 alone reaches 3.9 */
    ck_assert_int_eq(draw(0.99, 2, 0.5), 1);  /* of the 7 that top_k left, 4 reach 3.5 */
    /* at half the temperature the weights are 1, 16, 4, 9: 30 in all */
    ck_assert_int_eq(reference_sample(four, 0.55, &(struct reference_sampling){4, 0, 0.5, 1}), 1);
    ck_assert_int_eq(reference_sample(four, 0.58, &(struct reference_sampling){4, 0, 0.5, 1}), 2);
    /* equal weights: the lower indices are kept */
    ck_assert_int_eq(
        reference_sample((float[]){3, 3, 3, 3}, 0.99, &(struct reference_sampling){4, 2, 1, 1}), 1);
}
END_TEST

START_TEST(sampling_allows_rounding_and_no_more) {
    struct reference_sampling c = {4, 0, 1, 1};
    ck_assert(reference_sample_allows(four, 0.3, &c, 1));
    ck_assert(!reference_sample_allows(four, 0.3, &c, 0));
    ck_assert(!reference_sample_allows(four, 0.3, &c, 2));
    ck_assert(reference_sample_allows(four, 0.10005, &c, 0)); /* within 1e-4 of the border */
    ck_assert(!reference_sample_allows(four, 0.102, &c, 0));
    c.top_p = 0.5;
    ck_assert(!reference_sample_allows(four, 0.99, &c, 2)); /* not kept */
    ck_assert(reference_sample_allows(four, 0.99, &c, 3));
    c.top_p = 0.40001; /* 4 alone, or 4 and 3: rounding decides */
    ck_assert(reference_sample_allows(four, 0.99, &c, 1));
    ck_assert(reference_sample_allows(four, 0.99, &c, 3));
}
END_TEST

int main(void) {
    Suite *s = suite_create("kernel_reference");
    TCase *t = tcase_create("by_hand");
    tcase_add_test(t, bf16_is_rounded_to_nearest_even);
    tcase_add_test(t, rows_by_hand);
    tcase_add_test(t, products_by_hand);
    tcase_add_test(t, rope_by_hand);
    tcase_add_test(t, prefill_by_hand);
    tcase_add_test(t, decode_and_merge_by_hand);
    tcase_add_test(t, argmax_takes_the_lowest_of_equals);
    tcase_add_test(t, sampling_by_hand);
    tcase_add_test(t, sampling_allows_rounding_and_no_more);
    suite_add_tcase(s, t);
    return check_main(s);
}
