/* test_lab03_card.c: the verdict on times measured on a GPU: too noisy, not physically possible, or
 * a figure; and the timed sizes are valid. No GPU needed. */
#include "testing/check_main.h"

#include "lab03/card.h"

#include "backend/kernel_case.h"

static struct kernel_sizes sizes_of(const char *kernel, const char *text) {
    struct kernel_sizes s;
    struct err e;
    ck_assert_msg(kernel_sizes_parse(kernel_spec_find(kernel), text, &s, &e) == 0, "%s: %s", kernel,
                  e.text);
    return s;
}

/* A result on a card that copies 1000 GB/s and multiplies 10000 GFLOP/s; the kernel takes `us`. */
static struct card_result judged(const struct kernel_sizes *s, double us, double spread,
                                 double reference_spread) {
    struct card_result r = {.copy_gb_s = 1000, .sgemm_gflop_s = 10000};
    r.yours = (struct card_time){us, spread};
    r.reference = (struct card_time){us, reference_spread};
    lab03_card_judge(s, &r);
    return r;
}

/* copy of n floats moves 8 n bytes: 80 MB take 80 us at 1000 GB/s. */
START_TEST(bandwidth_bounds_a_copy) {
    struct kernel_sizes s = sizes_of("copy", "n=10000000");
    ck_assert_int_eq(judged(&s, 80, 0, 0).verdict, CARD_TIMED);
    ck_assert_double_eq_tol(judged(&s, 80, 0, 0).fraction, 1, 1e-9);
    ck_assert_double_eq_tol(judged(&s, 160, 0, 0).fraction, 0.5, 1e-9);
    ck_assert_int_eq(judged(&s, 40.1, 0, 0).verdict, CARD_TIMED); /* twice */
    ck_assert_int_eq(judged(&s, 39.9, 0, 0).verdict, CARD_NOT_PHYSICAL);
    ck_assert_int_eq(judged(&s, 0, 0, 0).verdict, CARD_NOT_PHYSICAL);
    ck_assert_int_eq(judged(&s, 39.9, 1, 1).verdict,
                     CARD_NOT_PHYSICAL); /* independent of the noise */
}
END_TEST

/* 2 * 1000^3 operations take 200 us at 10000 GFLOP/s, 6.25 us on tensor cores 32 times as fast;
 * the 12 MB would take 6 us at twice the copy's bandwidth. */
START_TEST(operations_bound_a_product) {
    struct kernel_sizes s = sizes_of("gemm", "m=1000 n=1000 k=1000");
    ck_assert_double_eq_tol(judged(&s, 400, 0, 0).fraction, 0.5, 1e-9);
    ck_assert_int_eq(judged(&s, 6.3, 0, 0).verdict, CARD_TIMED);
    ck_assert_int_eq(judged(&s, 6.2, 0, 0).verdict, CARD_NOT_PHYSICAL);
    s = sizes_of("gemm", "m=4000 n=4000 k=4000"); /* 12800 us; 192 MB: 192 us */
    ck_assert_int_eq(judged(&s, 401, 0, 0).verdict, CARD_TIMED);
    ck_assert_int_eq(judged(&s, 399, 0, 0).verdict, CARD_NOT_PHYSICAL);
    /* no tensor cores: 4 * 32 * 128 * 8 * keys operations for decoding stay below 1.25 of the rate
     */
    s = sizes_of("attention_decode",
                 "seqs=1 context=8192 q_heads=32 kv_heads=1 head_dim=128 splits=4");
    ck_assert_int_eq(judged(&s, 11, 0, 0).verdict, CARD_TIMED); /* 134 M operations: 13.4 us */
    ck_assert_int_eq(judged(&s, 10, 0, 0).verdict, CARD_NOT_PHYSICAL);
}
END_TEST

START_TEST(either_spread_makes_noise) {
    struct kernel_sizes s = sizes_of("copy", "n=10000000");
    ck_assert_int_eq(judged(&s, 100, 0.09, 0.09).verdict, CARD_TIMED);
    ck_assert_int_eq(judged(&s, 100, 0.11, 0).verdict, CARD_NOISY);
    ck_assert_int_eq(judged(&s, 100, 0, 0.11).verdict, CARD_NOISY);
}
END_TEST

START_TEST(timed_sizes_are_sizes) {
    for (int i = 0; i < kernel_spec_count; i++)
        sizes_of(kernel_specs[i].name, lab03_card_timed_sizes(kernel_specs[i].name));
}
END_TEST

int main(void) {
    Suite *s = suite_create("lab03_card");
    TCase *c = tcase_create("judge");
    tcase_add_test(c, bandwidth_bounds_a_copy);
    tcase_add_test(c, operations_bound_a_product);
    tcase_add_test(c, either_spread_makes_noise);
    tcase_add_test(c, timed_sizes_are_sizes);
    suite_add_tcase(s, c);
    return check_main(s);
}
